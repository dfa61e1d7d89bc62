// GridSample by the kernel that plugins use.
#include "tenon/kernels/grid_sample.h"

#include "cpu/kernels.h"
#include "cpu/shared_kernel.h"
#include "ops/grid_sample.h"

namespace tenon::cpu {
namespace {

using kernels::GridCall;
using kernels::GridInterpolation;
using kernels::GridPadding;
using nvinfer1::InterpolationMode;
using nvinfer1::SampleMode;

SharedExecution prepare(const GridSample& op, std::span<const TensorSpec> inputs,
                        const TensorSpec& output) {
  const Shape &x = inputs[0].shape, &grid = inputs[1].shape;
  const int axes = x.rank() - 2;
  require(x[0] == grid[0] && grid.back() == axes,
          "a grid of shape {} does not fit data of shape {}", grid, x);
  const kernels::GridRule rule{op.mode == InterpolationMode::kNEAREST  ? GridInterpolation::kNearest
                               : op.mode == InterpolationMode::kLINEAR ? GridInterpolation::kLinear
                                                                       : GridInterpolation::kCubic,
                               op.outside == SampleMode::kFILL    ? GridPadding::kZeros
                               : op.outside == SampleMode::kCLAMP ? GridPadding::kBorder
                                                                  : GridPadding::kReflection,
                               op.align_corners};
  const int64_t results = output.shape.volume();
  GridCall<float> call{nullptr, nullptr,     nullptr,
                       x[0],    x[1],        axes == 3 ? x[2] : 1,
                       x[axes], x[axes + 1], grid.volume(1, grid.rank() - 1)};
  const bool is_empty = x.volume() == 0;
  return {kernels::grid_sample_workspace(rule, axes, call),
          [=](const kit::Device& device, const RunArguments& arguments) mutable {
            call.x = static_cast<const float*>(arguments.inputs[0]);
            call.grid = static_cast<const float*>(arguments.inputs[1]);
            call.y = static_cast<float*>(arguments.outputs[0]);
            if (is_empty) return void(std::fill_n(call.y, results, 0.f));
            kernels::grid_sample(device, rule, axes, call);
          }};
}

}  // namespace

Offer offer_grid_sample(const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const auto& op = static_cast<const GridSample&>(request.op);
  if (op.mode == InterpolationMode::kCUBIC && request.inputs[0].shape.rank() == 5)
    return "cubic interpolation of volumes is not supported";
  return std::make_unique<SharedKernel<GridSample>>(op, prepare);
}

}  // namespace tenon::cpu
