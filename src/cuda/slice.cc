// Slices and paddings: strided copies where all samples lie inside, else sampled ones.
#include "ops/slice.h"

#include "base/cuda_stream.h"
#include "base/error.h"
#include "common/physical.h"
#include "common/slice_ranges.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "cuda/strided_copy.h"
#include "ops/padding.h"

namespace tenon::cuda {
namespace {

using nvinfer1::SampleMode;

Outside outside_of(SampleMode mode) {
  return mode == SampleMode::kCLAMP     ? Outside::kClamp
         : mode == SampleMode::kREFLECT ? Outside::kReflect
         : mode == SampleMode::kWRAP    ? Outside::kWrap
                                        : Outside::kFill;
}

bool lies_inside(const Shape& in, const Shape& out, const SliceRange& range) {
  for (int axis = 0; axis < in.rank(); ++axis) {
    const int64_t first = range.start[axis], last = first + (out[axis] - 1) * range.step[axis];
    if (std::min(first, last) < 0 || std::max(first, last) >= in[axis]) return false;
  }
  return true;
}

// Axes are those of memory from here on, whatever the layout.
void copy_range(const Shape& in, const Shape& out, const SliceRange& range, Outside outside,
                int64_t bytes, const void* fill, const RunArguments& arguments) {
  const auto* from = static_cast<const std::byte*>(arguments.inputs[0]);
  void* to = arguments.outputs[0];
  if (!lies_inside(in, out, range))
    return SampledCopy(in, out, range.start, range.step, outside, bytes)
        .run(from, fill, to, to_cuda(arguments.stream));
  Shape strides = in.strides();
  int64_t offset = 0;
  for (int axis = 0; axis < in.rank(); ++axis) {
    offset += range.start[axis] * strides[axis];
    // One sample needs no step, however long that is.
    strides[axis] = out[axis] == 1 ? 0 : strides[axis] * range.step[axis];
  }
  StridedCopy(out, strides, bytes).run(from + offset * bytes, to, to_cuda(arguments.stream));
}

LaunchExecution prepare_slice(const Op& op, std::span<const TensorSpec> inputs,
                              std::span<const TensorSpec> outputs) {
  const auto& slice = static_cast<const Slice&>(op);
  const Layout layout = outputs[0].layout;
  const Shape in = physical_extents(inputs[0].shape, layout);
  const Shape out = physical_extents(outputs[0].shape, layout);
  const auto bytes = static_cast<int64_t>(bytes_of(outputs[0].type, 1));
  const bool has_fill = is_given(inputs, Slice::kFill);
  const SliceRanges ranges(slice, inputs, outputs[0]);
  return LaunchExecution([=, mode = slice.mode](const RunArguments& arguments) {
    if (out.volume() == 0) return;
    const SliceRange range = ranges.read(arguments);
    copy_range(
        in, out, {physical_extents(range.start, layout), physical_extents(range.step, layout)},
        outside_of(mode), bytes, has_fill ? arguments.inputs[Slice::kFill] : nullptr, arguments);
  });
}

LaunchExecution prepare_padding(const Op& op, std::span<const TensorSpec> inputs,
                                std::span<const TensorSpec> outputs) {
  const auto& padding = static_cast<const Padding&>(op);
  const int rank = inputs[0].shape.rank();
  SliceRange range{Shape::filled(rank, 0), Shape::filled(rank, 1)};
  for (int i = 0; i < 2; ++i) range.start[rank - 2 + i] = -padding.pre[i];
  const Layout layout = outputs[0].layout;
  const Shape in = physical_extents(inputs[0].shape, layout);
  const Shape out = physical_extents(outputs[0].shape, layout);
  range.start = physical_extents(range.start, layout);
  const auto bytes = static_cast<int64_t>(bytes_of(outputs[0].type, 1));
  return LaunchExecution([=](const RunArguments& arguments) {
    if (out.volume() > 0) copy_range(in, out, range, Outside::kFill, bytes, nullptr, arguments);
  });
}

Offer offer_range(const KernelRequest& request, LaunchKernel::Prepare prepare) {
  const TensorSpec& in = request.inputs[0];
  if (bits_of(in.type) < 8) return "elements narrower than a byte are not supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare);
  kernel->input_layouts = {in.layout};
  kernel->output_layouts = {in.layout};
  return kernel;
}

}  // namespace

Offer offer_slice(const KernelRequest& request) {
  Offer offer = offer_range(request, prepare_slice);
  if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer)) {
    (*kernel)->input_on_host.assign(request.inputs.size(), true);
    for (const size_t i : {size_t{Slice::kData}, size_t{Slice::kFill}})
      if (i < request.inputs.size()) (*kernel)->input_on_host[i] = false;
  }
  return offer;
}

Offer offer_padding(const KernelRequest& request) {
  return offer_range(request, prepare_padding);
}

}  // namespace tenon::cuda
