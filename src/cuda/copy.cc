// Copies within the device's memory: reorders that change nothing, and what is only seen in another
// shape.
#include "base/error.h"
#include "cuda/cuda_target.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "ops/reorder.h"

namespace tenon::cuda {
namespace {

LaunchExecution prepare_copy(const Op&, std::span<const TensorSpec> inputs,
                             std::span<const TensorSpec> outputs) {
  const Shape &in = inputs[0].shape, &out = outputs[0].shape;
  // The extremes of a profile, for which memory is measured, need not fit together.
  const bool fits = in.volume() == out.volume();
  const size_t bytes = storage_bytes(inputs[0].type, in, inputs[0].layout);
  return LaunchExecution([=](const RunArguments& arguments) {
    require(fits, "cannot reshape {} to {}", in, out);
    cuda_device().copy(arguments.outputs[0], arguments.inputs[0], bytes, arguments.stream);
  });
}

}  // namespace

Offer offer_copy(const KernelRequest& request) {
  const auto* op = dynamic_cast<const Reorder*>(&request.op);
  if (op == nullptr || op->from != op->to) return "only tensors whose layout stays as it is";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_copy);
  kernel->input_layouts = {op->from};
  kernel->output_layouts = {op->to};
  return kernel;
}

Offer offer_same_bytes(const KernelRequest& request) {
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_copy);
  kernel->input_on_host = {false, true};  // axes
  return kernel;
}

}  // namespace tenon::cuda
