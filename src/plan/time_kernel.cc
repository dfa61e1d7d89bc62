#include "plan/time_kernel.h"

#include <cuda_runtime_api.h>
#include <fmt/ranges.h>

#include <cmath>

#include "network/plugin_kind.h"

// Weak: programs without a CUDA runtime, such as tests, have no streams.
extern "C" __attribute__((weak)) cudaError_t cudaDeviceSynchronize();

namespace tenon {
namespace {

// Layers larger than this are not timed: two copies of their tensors would not fit a small machine.
constexpr int64_t kLargestTimed = int64_t{1} << 31;

// What bounds it where only running tells its size.
const Shape& size_of(const TensorSpec& spec) {
  return spec.most.rank() == 0 ? spec.shape : spec.most;
}

Tensor random_tensor(const TensorSpec& spec) {
  const Shape& shape = size_of(spec);
  Tensor t(DataType::kUINT8, {static_cast<int64_t>(storage_bytes(spec.type, shape, spec.layout))});
  auto* bytes = t.mutable_data<uint8_t>();
  std::fill_n(bytes, t.bytes(), uint8_t{0});
  if (spec.type == DataType::kFLOAT) {
    auto* x = reinterpret_cast<float*>(bytes);
    uint32_t state = 1;
    for (size_t i = 0; i < t.bytes() / sizeof(float); ++i) {
      state = state * 1664525u + 1013904223u;
      x[i] = static_cast<float>(state >> 8) / (1u << 24) - 0.5f;
    }
  }
  return t;
}

/// A kernel made ready for the shapes of the request.
struct Prepared {
  std::vector<TensorSpec> inputs, outputs;
  std::unique_ptr<Execution> execution;

  Prepared(const Kernel& kernel, const KernelRequest& request)
      : inputs(request.inputs.begin(), request.inputs.end()),
        outputs(request.outputs.begin(), request.outputs.end()) {
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].layout = kernel.input_layouts[i];
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].layout = kernel.output_layouts[i];
    execution = kernel.prepare(inputs, outputs);
  }
};

float time_kernel(const Kernel& kernel, const KernelRequest& request, const Device& device) {
  const auto [inputs, outputs, execution] = Prepared(kernel, request);

  // A host's kernels work on the tensors as they are; for a device they are copied.
  std::vector<Tensor> tensors;
  std::vector<DeviceBuffer> copies;
  const auto address_of = [&](Tensor tensor, bool on_host) -> void* {
    tensors.push_back(std::move(tensor));
    if (on_host || device.is_host()) return tensors.back().mutable_data<void>();
    copies.emplace_back(device, std::max<size_t>(tensors.back().bytes(), 1));
    device.copy_in(copies.back().data(), tensors.back().data(), tensors.back().bytes(), nullptr);
    return copies.back().data();
  };
  std::vector<const void*> in, packed;
  std::vector<void*> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool unused = !inputs[i].present || kernel.input_is_packed[i];
    in.push_back(unused ? nullptr
                        : address_of(request.constants[i] != nullptr ? *request.constants[i]
                                                                     : random_tensor(inputs[i]),
                                     kernel.input_on_host[i]));
  }
  for (const TensorSpec& spec : outputs) out.push_back(address_of(random_tensor(spec), false));
  if (!device.is_host())
    for (const Tensor& t : kernel.packed) packed.push_back(address_of(t, false));
  if (kernel.aliased_input >= 0)
    out[0] = const_cast<void*>(in[static_cast<size_t>(kernel.aliased_input)]);
  const DeviceBuffer scratch(device, execution->scratch_bytes());
  // Memory for what bounds late outputs is there.
  const AllocateOutput allocate = [&](int output, const Shape&) {
    return out[static_cast<size_t>(output)];
  };

  // A plugin may leave work in the stream.
  const bool waits =
      device.is_host() && is_plugin(request.op.kind()) && cudaDeviceSynchronize != nullptr;
  return device.measure([&](cudaStream_t stream) {
    execution->run({in, out, scratch.data(), stream, &allocate, packed});
    if (waits) cudaDeviceSynchronize();
  });
}

size_t index_of(std::span<const Candidate> list, std::string_view name) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return i;
  return list.size();
}

// Why the kernel cannot be taken, "" if it can: it keeps within the limit of workspace.
std::string refusal(const Kernel& kernel, const KernelRequest& request, size_t most_workspace) {
  if (most_workspace == SIZE_MAX) return "";
  const size_t bytes = Prepared(kernel, request).execution->scratch_bytes();
  if (bytes <= most_workspace) return "";
  return fmt::format("{}: it wants {} bytes of workspace, and the limit is {}", kernel.name, bytes,
                     most_workspace);
}

// The first candidate from `first` on that accepts and keeps within the limit of workspace.
Choice choose_within(const Target& target, const KernelRequest& request, size_t first,
                     size_t most_workspace) {
  Choice choice = choose(target, request, first);
  if (choice.kernel == nullptr) return choice;
  const std::string reason = refusal(*choice.kernel, request, most_workspace);
  if (reason.empty()) return choice;
  choice.refusals.push_back(reason);
  const size_t at = index_of(target.candidates(request.op), choice.kernel->name);
  Choice next = choose_within(target, request, at + 1, most_workspace);
  next.refusals.insert(next.refusals.begin(), choice.refusals.begin(), choice.refusals.end());
  return next;
}

// How a timing cache names a kernel.
std::string label_of(const Kernel& kernel) {
  return kernel.variant.empty() ? kernel.name : fmt::format("{}/{}", kernel.name, kernel.variant);
}

std::vector<std::unique_ptr<Kernel>> variants_of(const Kernel& kernel,
                                                 const KernelRequest& request) {
  auto variants = kernel.variants();
  for (auto& variant : variants) complete(*variant, request);
  return variants;
}

std::unique_ptr<Kernel> find_variant(std::unique_ptr<Kernel> kernel, std::string_view label,
                                     const KernelRequest& request) {
  if (label_of(*kernel) == label) return kernel;
  for (auto& variant : variants_of(*kernel, request))
    if (label_of(*variant) == label) return std::move(variant);
  return nullptr;
}

bool small_enough(const KernelRequest& request) {
  int64_t bytes = 0;
  for (const auto& specs : {request.inputs, request.outputs})
    for (const TensorSpec& s : specs)
      if (s.present) {
        const Shape& shape = size_of(s);
        if (std::find(shape.begin(), shape.end(), -1) != shape.end()) return false;
        bytes += static_cast<int64_t>(bytes_of(s.type, shape.volume()));
      }
  return bytes > 0 && bytes < kLargestTimed;
}

}  // namespace

std::unique_ptr<Kernel> choose_kernel(const Target& target, KernelRequest request,
                                      const std::string& layer, const BuildOptions& options) {
  request.code_cache = options.code_cache;
  const auto list = target.candidates(request.op);
  const auto next_choice = [&](size_t first) {
    return choose_within(target, request, first, options.most_workspace);
  };
  Choice choice = next_choice(0);
  if (choice.kernel == nullptr)
    fail(ErrorCode::kUNSUPPORTED_STATE, "layer {}: the target {} has no kernel for it: {}", layer,
         target.name(), fmt::join(choice.refusals, "; "));
  size_t at = index_of(list, choice.kernel->name);
  const auto is_timed = [&] { return at < list.size() && list[at].timed; };
  const auto rivals_of = [&](const Kernel& kernel) {
    auto rivals = variants_of(kernel, request);
    std::erase_if(rivals, [&](const auto& rival) {
      try {
        return !refusal(*rival, request, options.most_workspace).empty();
      } catch (const Error&) {
        return true;
      }
    });
    return rivals;
  };
  std::vector<std::unique_ptr<Kernel>> rivals;
  if (options.time_kernels) rivals = rivals_of(*choice.kernel);
  if (!options.time_kernels || (!is_timed() && rivals.empty()) || !small_enough(request))
    return std::move(choice.kernel);

  TimingCache* cache = choice.kernel->timing_id ? options.timing_cache : nullptr;
  const TimingKey key = timing_key(target, request, choice.kernel->timing_id.value_or(""));
  if (const auto known = cache != nullptr ? cache->find(key) : std::nullopt) {
    const std::string_view label = known->kernel;
    Choice again = next_choice(index_of(list, label.substr(0, label.find('/'))));
    if (again.kernel != nullptr)
      if (auto found = find_variant(std::move(again.kernel), label, request)) return found;
  }
  if (options.error_on_timing_cache_miss)
    fail(ErrorCode::kINVALID_STATE, "layer {}: the timing cache has no entry for it", layer);

  // A kernel that cannot be timed never wins, but one that can be had is taken.
  const auto measured = [&](const Kernel& kernel) {
    try {
      return time_kernel(kernel, request, target.device());
    } catch (const std::exception& e) {
      options.log.verbose("layer {}: {} cannot be timed: {}", layer, label_of(kernel), e.what());
      return INFINITY;
    }
  };
  float best = measured(*choice.kernel);
  const auto race = [&](std::unique_ptr<Kernel> rival) {
    const float ms = measured(*rival);
    if (ms >= best) return;
    best = ms;
    choice.kernel = std::move(rival);
  };
  for (auto& rival : rivals) race(std::move(rival));
  while (is_timed()) {
    Choice next = next_choice(at + 1);
    if (next.kernel == nullptr) break;
    at = index_of(list, next.kernel->name);
    if (next.kernel->name == "reference" || next.kernel->name == "host")
      break;  // never quicker than a kernel made to be quick
    rivals = rivals_of(*next.kernel);
    race(std::move(next.kernel));
    for (auto& rival : rivals) race(std::move(rival));
  }
  if (cache != nullptr && std::isfinite(best)) cache->insert(key, {label_of(*choice.kernel), best});
  options.log.verbose("layer {}: {} in {:.3f} ms", layer, label_of(*choice.kernel), best);
  return std::move(choice.kernel);
}

}  // namespace tenon
