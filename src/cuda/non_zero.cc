// The indices of elements that are not zero: chunks are counted, the sum is waited for, and each
// chunk then knows where its columns begin.
#include "ops/non_zero.h"

#include "base/cuda_stream.h"
#include "cuda/cuda_target.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "cuda/non_zero.h"

namespace tenon::cuda {
namespace {

LaunchExecution prepare_non_zero(const Op&, std::span<const TensorSpec> inputs,
                                 std::span<const TensorSpec> outputs) {
  const Shape shape = inputs[0].shape;
  const NonZeroElements all{nullptr, static_cast<int32_t>(inputs[0].type), shape.volume(), nullptr};
  const bool is_wide = outputs[0].type == DataType::kINT64;
  const auto run = [=](const RunArguments& arguments) {
    int64_t count = 0;
    NonZeroElements elements = all;
    elements.data = arguments.inputs[0];
    elements.begins = static_cast<int64_t*>(arguments.scratch);
    if (elements.count > 0) {
      launch_non_zero_count(elements, to_cuda(arguments.stream));
      check_launch("counting what is not zero");
      cuda_device().copy_out(&count, elements.begins + elements.chunks(), sizeof count,
                             arguments.stream);
    }
    NonZeroIndices indices{
        (*arguments.allocate_output)(0, {shape.rank(), count}), is_wide, shape.rank(), {}, count};
    if (count == 0 || shape.rank() == 0) return;
    std::copy(shape.begin(), shape.end(), indices.extents);
    launch_non_zero_indices(elements, indices, to_cuda(arguments.stream));
    check_launch("finding what is not zero");
  };
  return LaunchExecution(run, static_cast<size_t>(all.chunks() + 1) * sizeof(int64_t));
}

}  // namespace

Offer offer_non_zero(const KernelRequest& request) {
  if (!has_element_kernels(request.inputs[0].type))
    return "elements of this type are not supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_non_zero);
  kernel->can_be_captured = false;
  return kernel;
}

}  // namespace tenon::cuda
