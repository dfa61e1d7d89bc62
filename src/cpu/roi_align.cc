// RoiAlign by the kernel that plugins use.
#include "ops/roi_align.h"

#include "cpu/kernels.h"
#include "cpu/shared_kernel.h"
#include "tenon/kernels/roi_align.h"

namespace tenon::cpu {
namespace {

SharedExecution prepare(const RoiAlign& op, std::span<const TensorSpec> inputs, const TensorSpec&) {
  const Shape &x = inputs[0].shape, &rois = inputs[1].shape;
  require(inputs[2].shape.volume() == rois[0] && rois[1] == 4,
          "batch elements of shape {} do not fit regions of shape {}", inputs[2].shape, rois);
  const kernels::RoiAlignRule rule{
      op.height, op.width, op.sampling_ratio,
      op.takes_maximum ? kernels::RoiPooling::kMaximumOfTaps : kernels::RoiPooling::kAverage};
  const auto pool = [=, scale = op.spatial_scale, half_pixel = op.half_pixel](
                        const kit::Device& device, const RunArguments& arguments, auto index) {
    const kernels::FeatureMap<float> map{static_cast<const float*>(arguments.inputs[0]), x[0], x[2],
                                         x[3]};
    const kernels::RoisOfImages<float, decltype(index)> regions{
        static_cast<const float*>(arguments.inputs[1]),
        static_cast<const decltype(index)*>(arguments.inputs[2]), scale, half_pixel};
    kernels::roi_align<float>(device, rule, {&map, 1}, x[1], regions, rois[0],
                              static_cast<float*>(arguments.outputs[0]));
  };
  const bool is_wide = inputs[2].type == DataType::kINT64;
  return {kernels::roi_align_workspace(x[0] * x[2] * x[3], x[1]),
          [=](const kit::Device& device, const RunArguments& arguments) {
            if (is_wide)
              pool(device, arguments, int64_t{});
            else
              pool(device, arguments, int32_t{});
          }};
}

}  // namespace

Offer offer_roi_align(const KernelRequest& request) {
  for (const TensorSpec& spec : {request.inputs[0], request.inputs[1], request.outputs[0]})
    if (spec.type != DataType::kFLOAT) return "only float32 is supported";
  return std::make_unique<SharedKernel<RoiAlign>>(static_cast<const RoiAlign&>(request.op),
                                                  prepare);
}

}  // namespace tenon::cpu
