#include "plan/time_kernel.h"

#include <algorithm>
#include <cmath>

#include "ops/reorder.h"
#include "plan/timing_cache.h"

namespace tenon {
namespace {

// Layers larger than this are not timed: two copies of their tensors would not fit a small machine.
constexpr int64_t kLargestTimed = int64_t{1} << 31;

// What bounds it where only running tells its size.
const Shape& size_of(const TensorSpec& spec) {
  return spec.upper.rank() == 0 ? spec.shape : spec.upper;
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

// What a kernel reads that is the same in each run, but for copies that it made when it was loaded.
std::vector<Tensor> weights_of(const Kernel& kernel, const KernelRequest& request) {
  std::vector<Tensor> weights = kernel.store().packed;
  for (size_t i = 0; i < request.constants.size(); ++i)
    if (request.constants[i] != nullptr && !kernel.input_is_packed[i])
      weights.push_back(*request.constants[i]);
  return weights;
}

float time_kernel(const Kernel& kernel, const KernelRequest& request, const Device& device) {
  const auto [inputs, outputs, execution] = PreparedKernel(kernel, request);

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
  std::vector<WrittenRows> written;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool unused = !inputs[i].present || kernel.input_is_packed[i];
    // Constants are linear; where a kernel wants another layout, a run reads a reordered copy.
    const bool is_ready = request.constants[i] != nullptr && inputs[i].layout == Layout::kLinear;
    in.push_back(unused ? nullptr
                        : address_of(is_ready ? *request.constants[i] : random_tensor(inputs[i]),
                                     kernel.input_on_host[i]));
    if (!unused && request.constants[i] == nullptr)
      written.push_back(written_rows(inputs[i], tensors.back()));
  }
  for (const TensorSpec& spec : outputs) out.push_back(address_of(random_tensor(spec), false));
  if (!device.is_host())
    for (const Tensor& t : kernel.packed) packed.push_back(address_of(t, false));
  if (kernel.aliased_input >= 0)
    out[0] = const_cast<void*>(in[static_cast<size_t>(kernel.aliased_input)]);
  const DeviceBuffer scratch(device, execution->scratch_bytes());
  // Memory for what bounds data-dependent outputs is there.
  const AllocateOutput allocate = [&](int output, const Shape&) {
    return out[static_cast<size_t>(output)];
  };

  // A plugin may leave work in the stream.
  const bool waits = device.is_host() && request.op.is_plugin();
  const auto run = [&](Stream* stream) {
    execution->run({in, out, scratch.data(), stream, &allocate, packed});
    if (waits) device.synchronize_all();
  };
  std::vector<Tensor> cold;
  if (request.cold_weights) cold = weights_of(kernel, request);
  return device.measure(run, {cold, written});
}

// What it takes to bring inputs into the layouts that the kernel wants.
float time_reorders(const Kernel& kernel, const KernelRequest& request, const Target& target) {
  float milliseconds = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorSpec& arrives = request.inputs[i];
    const bool is_read =
        arrives.present && !kernel.input_is_packed[i] && request.constants[i] == nullptr;
    if (!is_read || kernel.input_layouts[i] == arrives.layout) continue;
    Reorder op;
    op.from = arrives.layout;
    op.to = kernel.input_layouts[i];
    TensorSpec wanted = arrives;
    wanted.layout = op.to;
    const Tensor* const constant = nullptr;
    const KernelRequest reorder{op, {&arrives, 1}, {&wanted, 1}, {&constant, 1}};
    const Choice choice = choose(target, reorder);
    if (choice.kernel != nullptr)
      milliseconds += time_kernel(*choice.kernel, reorder, target.device());
  }
  return milliseconds;
}

}  // namespace

PreparedKernel::PreparedKernel(const Kernel& kernel, const KernelRequest& request)
    : inputs(request.inputs.begin(), request.inputs.end()),
      outputs(request.outputs.begin(), request.outputs.end()) {
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].layout = kernel.input_layouts[i];
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].layout = kernel.output_layouts[i];
  execution = kernel.prepare(inputs, outputs);
}

std::string tactic_of(const Kernel& kernel) {
  return tactic_name(kernel.name, kernel.variant);
}

bool can_be_timed(const KernelRequest& request) {
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

WrittenRows written_rows(const TensorSpec& spec, Tensor& data) {
  const Shape& shape = size_of(spec);
  const bool is_plane_wise = shape.rank() >= 4 && spec.layout != Layout::kChannelsLast;
  const int64_t images = shape.rank() >= 4 ? shape[0] : 1;
  const int64_t block = channel_block(spec.layout);
  const int64_t planes = is_plane_wise ? (shape[1] + block - 1) / block : 1;
  const int64_t all = std::max<int64_t>(images * planes, 1);
  return {data.mutable_data<void>(), images, planes, data.bytes() / static_cast<size_t>(all)};
}

size_t fastest(const std::vector<TimedKernel>& kernels) {
  const auto it = std::min_element(kernels.begin(), kernels.end(),
                                   [](const TimedKernel& a, const TimedKernel& b) {
                                     return a.milliseconds() < b.milliseconds();
                                   });
  return static_cast<size_t>(it - kernels.begin());
}

void time_in_turn(std::vector<TimedKernel>& kernels, const Target& target,
                  const KernelRequest& request, std::string_view layer, const Log& log) {
  constexpr int kRounds = 3;
  constexpr float kHopeless = 2;  // times what the fastest took
  const int rounds = target.device().is_host() ? kRounds : 1;
  for (int round = 0; round < rounds; ++round) {
    const float limit = kHopeless * kernels[fastest(kernels)].milliseconds();
    for (TimedKernel& timed : kernels) {
      if (round > 0 && !(timed.milliseconds() <= limit)) continue;
      try {
        if (round == 0) timed.reorders = time_reorders(*timed.kernel, request, target);
        timed.own = std::min(timed.own, time_kernel(*timed.kernel, request, target.device()));
      } catch (const std::exception& e) {
        log.verbose("layer {}: {} cannot be timed: {}", layer, tactic_of(*timed.kernel), e.what());
        timed.own = INFINITY;
      }
    }
  }
  for (const TimedKernel& timed : kernels)
    log.verbose("layer {}: {} takes {:.3f} ms", layer, tactic_of(*timed.kernel),
                timed.milliseconds());
}

}  // namespace tenon
