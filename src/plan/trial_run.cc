#include "plan/trial_run.h"

#include <algorithm>

namespace tenon {
namespace {

// Larger layers are not tried: two copies of their tensors would not fit a small machine.
constexpr int64_t kLargest = int64_t{1} << 31;

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

}  // namespace

PreparedKernel::PreparedKernel(const Kernel& kernel, const KernelRequest& request)
    : inputs(request.inputs.begin(), request.inputs.end()),
      outputs(request.outputs.begin(), request.outputs.end()) {
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].layout = kernel.input_layouts[i];
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].layout = kernel.output_layouts[i];
  execution = kernel.prepare(inputs, outputs);
}

bool can_be_tried(const KernelRequest& request) {
  int64_t bytes = 0;
  for (const auto& specs : {request.inputs, request.outputs})
    for (const TensorSpec& s : specs)
      if (s.present) {
        const Shape& shape = size_of(s);
        if (std::find(shape.begin(), shape.end(), -1) != shape.end()) return false;
        bytes += static_cast<int64_t>(bytes_of(s.type, shape.volume()));
      }
  return bytes > 0 && bytes < kLargest;
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

TrialRun::TrialRun(const Kernel& kernel, const KernelRequest& request, const Device& device)
    : device_(device),
      waits_(device.is_host() && request.op.is_plugin()),
      kernel_(kernel, request),
      scratch_(device, kernel_.execution->scratch_bytes()) {
  const auto& [inputs, outputs, execution] = kernel_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool unused = !inputs[i].present || kernel.input_is_packed[i];
    // Constants are linear; where a kernel wants another layout, a run reads a reordered copy.
    has_constant_.push_back(!unused && request.constants[i] != nullptr
                            && inputs[i].layout == Layout::kLinear);
    in_.push_back(
        unused ? nullptr
               : memory_for(has_constant_[i] ? *request.constants[i] : random_tensor(inputs[i]),
                            kernel.input_on_host[i]));
    if (!unused && request.constants[i] == nullptr)
      written_.push_back(written_rows(inputs[i], tensors_.back()));
  }
  for (const TensorSpec& spec : outputs) out_.push_back(memory_for(random_tensor(spec), false));
  if (!device.is_host())
    for (const Tensor& t : kernel.packed) packed_.push_back(memory_for(t, false));
  if (kernel.aliased_input >= 0)
    out_[0] = const_cast<void*>(in_[static_cast<size_t>(kernel.aliased_input)]);
}

// A host's kernels work on the tensors as they are; for a device they are copied.
void* TrialRun::memory_for(Tensor tensor, bool on_host) {
  tensors_.push_back(std::move(tensor));
  if (on_host || device_.is_host()) return tensors_.back().mutable_data<void>();
  copies_.emplace_back(device_, std::max<size_t>(tensors_.back().bytes(), 1));
  device_.copy_in(copies_.back().data(), tensors_.back().data(), tensors_.back().bytes(), nullptr);
  return copies_.back().data();
}

void TrialRun::run(Stream* stream) {
  // Memory for what bounds data-dependent outputs is there.
  const AllocateOutput allocate = [this](int output, const Shape&) {
    return out_[static_cast<size_t>(output)];
  };
  kernel_.execution->run({in_, out_, scratch_.data(), stream, &allocate, packed_});
  if (waits_) device_.synchronize_all();
}

}  // namespace tenon
