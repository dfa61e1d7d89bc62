// Layers that sample feature maps at positions that are data, by the kernels that plugins use.
// Regions of images that do not exist give zeros: a device cannot report them without a wait.
#include "cuda/sampling.h"

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "ops/deformable_convolution.h"
#include "ops/grid_sample.h"
#include "ops/max_roi_pool.h"
#include "ops/roi_align.h"
#include "ops/support/window.h"
#include "tenon/kernels/grid_sample.h"
#include "tenon/kernels/roi_align.h"

namespace tenon::cuda {
namespace {

using kernels::GridInterpolation;
using kernels::GridPadding;
using kernels::RoiPooling;
using nvinfer1::InterpolationMode;
using nvinfer1::SampleMode;

// Puts `call` into the stream with the addresses of the inputs, where it wants them, of `y` and of
// scratch memory.
template <class Call>
LaunchExecution launches(const Call& call, void (*launch)(const Call&, cudaStream_t),
                         const char* what, const std::vector<const void * Call::*>& inputs) {
  constexpr bool kHasScratch = requires(Call c) { c.scratch; };
  size_t bytes = 0;
  if constexpr (kHasScratch) bytes = scratch_bytes(call);
  return LaunchExecution(
      [=](const RunArguments& arguments) {
        Call c = call;
        for (size_t i = 0; i < inputs.size(); ++i) c.*inputs[i] = arguments.input(i);
        c.y = arguments.outputs[0];
        if constexpr (kHasScratch) c.scratch = arguments.scratch;
        launch(c, to_cuda(arguments.stream));
        check_launch(what);
      },
      bytes);
}

LaunchExecution nothing() {
  return LaunchExecution([](const RunArguments&) {});
}

LaunchExecution prepare_grid_sample(const Op& op, std::span<const TensorSpec> inputs,
                                    std::span<const TensorSpec> outputs) {
  const auto& layer = static_cast<const GridSample&>(op);
  const Shape &x = inputs[0].shape, &grid = inputs[1].shape;
  const int axes = x.rank() - 2;
  require(x[0] == grid[0] && grid.back() == axes,
          "a grid of shape {} does not fit data of shape {}", grid, x);
  const auto interpolation = layer.mode == InterpolationMode::kNEAREST ? GridInterpolation::kNearest
                             : layer.mode == InterpolationMode::kLINEAR ? GridInterpolation::kLinear
                                                                        : GridInterpolation::kCubic;
  const auto padding = layer.outside == SampleMode::kFILL    ? GridPadding::kZeros
                       : layer.outside == SampleMode::kCLAMP ? GridPadding::kBorder
                                                             : GridPadding::kReflection;
  if (x.volume() == 0) {
    const size_t bytes = bytes_of(outputs[0].type, outputs[0].shape.volume());
    return LaunchExecution([=](const RunArguments& arguments) {
      check(cudaMemsetAsync(arguments.outputs[0], 0, bytes, to_cuda(arguments.stream)),
            "filling with zeros");
    });
  }
  const GridSampling call{.type = static_cast<int32_t>(inputs[0].type),
                          .images = x[0],
                          .channels = x[1],
                          .depth = axes == 3 ? x[2] : 1,
                          .height = x[axes],
                          .width = x[axes + 1],
                          .pixels = grid.volume(1, grid.rank() - 1),
                          .axes = axes,
                          .interpolation = static_cast<int32_t>(interpolation),
                          .padding = static_cast<int32_t>(padding),
                          .align_corners = layer.align_corners};
  return launches(call, launch_grid_sample, "sampling by a grid",
                  {&GridSampling::x, &GridSampling::grid});
}

LaunchExecution prepare_roi_align(const Op& op, std::span<const TensorSpec> inputs,
                                  std::span<const TensorSpec>) {
  const auto& layer = static_cast<const RoiAlign&>(op);
  const Shape &x = inputs[0].shape, &rois = inputs[1].shape;
  require(inputs[2].shape.volume() == rois[0] && rois[1] == 4,
          "batch elements of shape {} do not fit regions of shape {}", inputs[2].shape, rois);
  if (rois[0] * x[1] == 0) return nothing();
  if (x[2] * x[3] == 0)
    return LaunchExecution([](const RunArguments&) {
      fail(ErrorCode::kINVALID_ARGUMENT, "a feature map has no elements");
    });
  const auto pooling = layer.takes_maximum ? RoiPooling::kMaximumOfTaps : RoiPooling::kAverage;
  const RegionAlignment call{.type = static_cast<int32_t>(inputs[0].type),
                             .is_wide = inputs[2].type == DataType::kINT64,
                             .map_images = x[0],
                             .channels = x[1],
                             .map_height = x[2],
                             .map_width = x[3],
                             .count = rois[0],
                             .height = layer.height,
                             .width = layer.width,
                             .sampling_ratio = layer.sampling_ratio,
                             .pooling = static_cast<int32_t>(pooling),
                             .scale = layer.spatial_scale,
                             .half_pixel = layer.half_pixel};
  return launches(call, launch_roi_align, "the alignment of regions",
                  {&RegionAlignment::x, &RegionAlignment::rois, &RegionAlignment::images});
}

LaunchExecution prepare_max_roi_pool(const Op& op, std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) {
  const auto& layer = static_cast<const MaxRoiPool&>(op);
  const Shape &x = inputs[0].shape, &rois = inputs[1].shape;
  require(rois[1] == 5, "regions of shape {}", rois);
  if (outputs[0].shape.volume() == 0) return nothing();
  const RegionMaxima call{.type = static_cast<int32_t>(inputs[0].type),
                          .images = x[0],
                          .channels = x[1],
                          .map_height = x[2],
                          .map_width = x[3],
                          .count = rois[0],
                          .height = layer.height,
                          .width = layer.width,
                          .scale = layer.spatial_scale};
  return launches(call, launch_max_roi_pool, "maxima of regions",
                  {&RegionMaxima::x, &RegionMaxima::rois});
}

LaunchExecution prepare_deformable_convolution(const Op& op, std::span<const TensorSpec> inputs,
                                               std::span<const TensorSpec> outputs) {
  const auto& layer = static_cast<const DeformableConvolution&>(op);
  const Shape &x = inputs[0].shape, &kernel = inputs[1].shape, &y = outputs[0].shape;
  const auto windows = make_windows(2, Shape{kernel[2], kernel[3]}, layer.stride, layer.dilation,
                                    layer.pre_padding, layer.post_padding);
  const auto axis = [&](size_t i) {
    const Window& w = windows[i];
    return DeformedConvolution::Axis{w.kernel, w.stride, w.pre, w.dilation};
  };
  const int64_t taps = layer.offset_groups * kernel[2] * kernel[3];
  const bool has_mask = is_given(inputs, 4);
  require(inputs[2].shape == Shape({y[0], 2 * taps, y[2], y[3]})
              && (!has_mask || inputs[4].shape == Shape({y[0], taps, y[2], y[3]})),
          "offsets of shape {} do not fit a result of shape {}", inputs[2].shape, y);
  using Call = DeformedConvolution;
  const Call call{.type = static_cast<int32_t>(inputs[0].type),
                  .images = x[0],
                  .channels = x[1],
                  .in_height = x[2],
                  .in_width = x[3],
                  .output_channels = y[1],
                  .height = y[2],
                  .width = y[3],
                  .rows = axis(0),
                  .columns = axis(1),
                  .groups = layer.groups,
                  .offset_groups = layer.offset_groups};
  return launches(call, launch_deformable_convolution, "a deformable convolution",
                  {&Call::x, &Call::kernel, &Call::offsets, &Call::bias, &Call::mask});
}

// The reason to refuse, "" for none: floats of one type, but for input `index`.
std::string refusal(const KernelRequest& request, size_t index = SIZE_MAX) {
  for (size_t i = 0; i < request.inputs.size(); ++i)
    if (i != index && request.inputs[i].present && request.inputs[i].type != request.inputs[0].type)
      return "operands of several types are not supported";
  return is_real_type(request.inputs[0].type) ? "" : "elements of this type are not supported";
}

Offer offer_sampling(const KernelRequest& request, LaunchKernel::Prepare prepare,
                     const std::string& reason) {
  if (!reason.empty()) return reason;
  return std::make_unique<LaunchKernel>(request.op, prepare);
}

}  // namespace

Offer offer_grid_sample(const KernelRequest& request) {
  if (static_cast<const GridSample&>(request.op).mode == InterpolationMode::kCUBIC
      && request.inputs[0].shape.rank() == 5)
    return "cubic interpolation of volumes is not supported";
  return offer_sampling(request, prepare_grid_sample, refusal(request));
}

Offer offer_roi_align(const KernelRequest& request) {
  return offer_sampling(request, prepare_roi_align, refusal(request, 2));
}

Offer offer_max_roi_pool(const KernelRequest& request) {
  return offer_sampling(request, prepare_max_roi_pool, refusal(request));
}

Offer offer_deformable_convolution(const KernelRequest& request) {
  return offer_sampling(request, prepare_deformable_convolution, refusal(request));
}

}  // namespace tenon::cuda
