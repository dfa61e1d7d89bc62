// Non-maximum suppression: candidates are sorted, a block for each class of each image chooses
// among them, and the number of rows is waited for.
#include "ops/nms.h"

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/cuda_target.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "cuda/nms.h"

namespace tenon::cuda {
namespace {

LaunchExecution prepare_nms(const Op& op, std::span<const TensorSpec> inputs,
                            std::span<const TensorSpec>) {
  const auto& layer = static_cast<const Nms&>(op);
  const Nms::Sizes sizes = layer.sizes_of(inputs[0].shape, inputs[1].shape);
  const int64_t count = sizes.batches * sizes.classes * sizes.boxes;
  require(count <= INT32_MAX, "{} scores are more than a GPU can sort", count);
  NmsLists all{};
  all.type = static_cast<int32_t>(inputs[0].type);
  all.images = sizes.batches;
  all.count = sizes.boxes;
  all.classes = sizes.classes;
  all.box_classes = sizes.box_classes;
  all.classes_first = layer.classes_first;
  all.are_centers = layer.format == BoundingBoxFormat::kCENTER_SIZES;
  const size_t sort_bytes = count > 0 ? sort_scratch_bytes(count) : 0;
  const auto cut = [=](ScratchArrays& arrays, NmsLists& lists) {
    lists.pairs.keys = arrays.array<uint64_t>(count);
    lists.pairs.other_keys = arrays.array<uint64_t>(count);
    lists.pairs.values = arrays.array<uint32_t>(count);
    lists.pairs.other_values = arrays.array<uint32_t>(count);
    lists.begins = arrays.array<int64_t>(lists.lists() + 1);
    return arrays.bytes(sort_bytes);
  };
  ScratchArrays counted;
  NmsLists without_memory = all;
  cut(counted, without_memory);
  std::vector<TensorView> views;
  for (const TensorSpec& s : inputs) views.push_back({nullptr, s.type, s.shape});
  return LaunchExecution(
      [=, &layer](const RunArguments& arguments) mutable {
        for (size_t i = 0; i < views.size(); ++i)
          views[i].data = const_cast<void*>(arguments.inputs[i]);
        const Suppression rule = layer.rule_of(views);
        NmsLists lists = all;
        ScratchArrays arrays(arguments.scratch);
        void* scratch = cut(arrays, lists);
        lists.boxes = arguments.inputs[0];
        lists.scores = arguments.inputs[1];
        lists.overlap = rule.overlap;
        lists.min_score = rule.min_score;
        lists.considered = rule.considered;
        lists.max_boxes = rule.max_boxes;
        int64_t total = 0;
        if (count > 0 && rule.max_boxes > 0) {
          launch_nms(lists, scratch, sort_bytes, to_cuda(arguments.stream));
          check_launch("a suppression of boxes");
          cuda_device().copy_out(&total, lists.begins + lists.lists(), sizeof total,
                                 arguments.stream);
        }
        void* const rows = (*arguments.allocate_output)(0, {total, 3});
        const auto found = static_cast<int32_t>(total);
        cuda_device().copy_in(arguments.outputs[1], &found, sizeof found, arguments.stream);
        if (total == 0) return;
        launch_nms_rows(lists, rows, layer.indices_type == DataType::kINT64,
                        to_cuda(arguments.stream));
        check_launch("the rows of boxes");
      },
      counted.used());
}

}  // namespace

Offer offer_nms(const KernelRequest& request) {
  if (!is_real_type(request.inputs[0].type) || request.inputs[1].type != request.inputs[0].type)
    return "boxes and scores of these types are not supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_nms);
  kernel->input_on_host = {false, false, true, true, true};
  kernel->input_on_host.resize(request.inputs.size());
  kernel->can_be_captured = false;
  return kernel;
}

}  // namespace tenon::cuda
