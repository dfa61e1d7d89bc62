// The first elements of rows: one by a reduction, some by a selection in each row's block, many, or
// those of few huge rows, by sorting everything.
#include "ops/top_k.h"

#include <bit>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "cuda/top_k.h"

namespace tenon::cuda {
namespace {

bool is_sorted_whole(const TopRows& rows) {
  constexpr int64_t kHuge = 65536, kFew = 64;
  return rows.k > kMaxSelected || (rows.length >= kHuge && rows.rows() < kFew);
}

LaunchExecution prepare_top_k(const Op& op, std::span<const TensorSpec> inputs,
                              std::span<const TensorSpec> outputs) {
  const auto& layer = static_cast<const TopK&>(op);
  const Shape& shape = inputs[0].shape;
  const int axis = std::countr_zero(layer.axes);
  TopRows rows{};
  rows.type = static_cast<int32_t>(inputs[0].type);
  rows.is_wide = outputs[1].type == DataType::kINT64;
  rows.smallest = layer.operation == nvinfer1::TopKOperation::kMIN;
  rows.last_index = layer.last_index;
  rows.nans_first = layer.nans_first;
  rows.outer = shape.volume(0, axis);
  rows.length = shape[axis];
  rows.inner = shape.volume(axis + 1, shape.rank());
  rows.k = outputs[0].shape[axis];
  const bool is_empty = rows.rows() * rows.k == 0;
  // The extremes of a profile, for which memory is measured, need not fit together.
  const bool fits = rows.k <= rows.length;
  require(rows.length <= INT32_MAX, "axis {} has {} elements; at most {} can be selected from",
          axis, rows.length, INT32_MAX);
  const bool sorts = !is_empty && rows.k > 1 && is_sorted_whole(rows);
  const int64_t count = sorts ? rows.rows() * rows.length : 0;
  require(count <= INT32_MAX, "{} elements are more than a GPU can sort", count);
  const size_t sort_bytes = sorts ? sort_scratch_bytes(count) : 0;
  const auto cut = [=](ScratchArrays& arrays) {
    SortedPairs pairs{};
    pairs.keys = arrays.array<uint64_t>(count);
    pairs.other_keys = arrays.array<uint64_t>(count);
    pairs.values = arrays.array<uint32_t>(count);
    pairs.other_values = arrays.array<uint32_t>(count);
    return std::pair{pairs, arrays.bytes(sort_bytes)};
  };
  ScratchArrays counted;
  cut(counted);
  return LaunchExecution(
      [=](const RunArguments& arguments) {
        require(fits, "expected k from 0 to the extent of axis {}, {}, found {}", axis, rows.length,
                rows.k);
        if (is_empty) return;
        TopRows r = rows;
        r.data = arguments.inputs[0];
        r.values = arguments.outputs[0];
        r.indices = arguments.outputs[1];
        if (sorts) {
          ScratchArrays arrays(arguments.scratch);
          const auto [pairs, scratch] = cut(arrays);
          launch_top_all(r, pairs, scratch, sort_bytes, to_cuda(arguments.stream));
        } else if (r.k == 1) {
          launch_top_one(r, to_cuda(arguments.stream));
        } else {
          launch_top_some(r, to_cuda(arguments.stream));
        }
        check_launch("a selection of the first elements");
      },
      counted.used());
}

}  // namespace

Offer offer_top_k(const KernelRequest& request) {
  if (!has_element_kernels(request.inputs[0].type))
    return "elements of this type are not supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_top_k);
  kernel->input_on_host = {false, true};  // k, which the output tells, too
  return kernel;
}

}  // namespace tenon::cuda
