// Transposes and reshapes. Mostly these are views that no kernel runs for.
#include "ops/shuffle.h"

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "cuda/strided_copy.h"

namespace tenon::cuda {
namespace {

LaunchExecution prepare_shuffle(const Op& op, std::span<const TensorSpec> inputs,
                                std::span<const TensorSpec> outputs) {
  const Shape &in = inputs[0].shape, &out = outputs[0].shape;
  const auto bytes = static_cast<int64_t>(bytes_of(inputs[0].type, 1));
  const auto [first, second] = steps_of(static_cast<const Shuffle&>(op), in, out);
  const StridedCopy first_copy(first.shape, first.strides, bytes);
  const StridedCopy second_copy(second.shape, second.strides, bytes);
  const bool is_first = !first.is_identity, is_second = !second.is_identity;
  const bool both = is_first && is_second;
  // The extremes of a profile, for which memory is measured, need not fit together.
  const bool fits = in.volume() == out.volume();
  return LaunchExecution(
      [=](const RunArguments& arguments) {
        require(fits, "cannot reshape {} to {}", in, out);
        const void* from = arguments.inputs[0];
        if (both) first_copy.run(from, arguments.scratch, to_cuda(arguments.stream));
        (is_second ? second_copy : first_copy)
            .run(both ? arguments.scratch : from, arguments.outputs[0], to_cuda(arguments.stream));
      },
      both ? bytes_of(inputs[0].type, in.volume()) : 0);
}

}  // namespace

Offer offer_shuffle(const KernelRequest& request) {
  if (bits_of(request.inputs[0].type) < 8) return "elements narrower than a byte are not supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_shuffle);
  kernel->input_on_host = {false, true};  // the shape that is wanted, which the output tells, too
  return kernel;
}

}  // namespace tenon::cuda
