// Gather: blocks of the data, as wide words as they are aligned to.
#include "ops/gather.h"

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/gather.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "cuda/strided_copy.h"

namespace tenon::cuda {
namespace {

using nvinfer1::GatherMode;

// Blocks of certain elements, gathered as `how` says.
template <class How>
LaunchExecution gather(std::span<const TensorSpec> inputs, int64_t count, int64_t elements,
                       const How& how) {
  const bool is_wide = inputs[1].type == DataType::kINT64;
  const auto bytes = static_cast<int64_t>(bytes_of(inputs[0].type, elements));
  return LaunchExecution([=](const RunArguments& arguments) {
    GatheredBlocks blocks{
        arguments.inputs[0], arguments.inputs[1], is_wide, arguments.outputs[0], 1, count, bytes};
    blocks.word = common_word(address_of(blocks.data), address_of(blocks.target), bytes);
    blocks.words = bytes / blocks.word;
    launch_gather(blocks, how, to_cuda(arguments.stream));
    check_launch("a gather");
  });
}

LaunchExecution gather_along_axis(const Gather& op, std::span<const TensorSpec> inputs) {
  const Shape &data = inputs[0].shape, &indices = inputs[1].shape;
  const int axis = normalized_axis(op.axis, data.rank());
  const int64_t batches = data.volume(0, op.batch_axes), outer = data.volume(0, axis);
  require(batches == indices.volume(0, op.batch_axes), "batch axes of {} and {} differ", data,
          indices);
  const int64_t picked = indices.volume(op.batch_axes, indices.rank());
  return gather(inputs, outer * picked, data.volume(axis + 1, data.rank()),
                GatherAlongAxis{data[axis], picked, batches == 0 ? 0 : outer / batches});
}

LaunchExecution gather_tuples(const Gather& op, std::span<const TensorSpec> inputs) {
  const Shape &data = inputs[0].shape, &indices = inputs[1].shape;
  const int64_t tuples = indices.volume(0, indices.rank() - 1);
  const int64_t batches = data.volume(0, op.batch_axes);
  require(batches == indices.volume(0, op.batch_axes), "batch axes of {} and {} differ", data,
          indices);
  const int end = op.batch_axes + static_cast<int>(indices.back());
  GatherTuples all{static_cast<int>(indices.back()), {}, batches == 0 ? 0 : tuples / batches};
  for (int axis = op.batch_axes; axis < end; ++axis) all.extents[axis - op.batch_axes] = data[axis];
  return gather(inputs, tuples, data.volume(end, data.rank()), all);
}

LaunchExecution gather_elements(const Gather& op, std::span<const TensorSpec> inputs) {
  const Shape &data = inputs[0].shape, &indices = inputs[1].shape, steps = data.strides();
  const int axis = normalized_axis(op.axis, data.rank());
  GatherElements all{axis, data.rank(), {}, {}, data[axis]};
  for (int k = 0; k < data.rank(); ++k) {
    require(k == axis || indices[k] <= data[k], "axis {}: expected at most {} indices, found {}", k,
            data[k], indices[k]);
    all.extents[k] = indices[k];
    all.steps[k] = steps[k];
  }
  return gather(inputs, indices.volume(), 1, all);
}

LaunchExecution prepare_gather(const Op& op, std::span<const TensorSpec> inputs,
                               std::span<const TensorSpec>) {
  const auto& gather = static_cast<const Gather&>(op);
  return gather.mode == GatherMode::kDEFAULT ? gather_along_axis(gather, inputs)
         : gather.mode == GatherMode::kND    ? gather_tuples(gather, inputs)
                                             : gather_elements(gather, inputs);
}

}  // namespace

Offer offer_gather(const KernelRequest& request) {
  if (bits_of(request.inputs[0].type) < 8) return "elements narrower than a byte are not supported";
  return std::make_unique<LaunchKernel>(request.op, prepare_gather);
}

}  // namespace tenon::cuda
