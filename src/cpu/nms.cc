// Non-maximum suppression of float boxes by the kernel that plugins use.
#include "ops/nms.h"

#include "cpu/kernels.h"
#include "cpu/shared_kernel.h"
#include "tenon/kernels/box_tensor.h"

namespace tenon::cpu {
namespace {

using kernels::BoxCoding;
using kernels::KeptLists;
using Boxes = kernels::BoxTensor<float>;

template <class Index> void write_rows(const KeptLists& lists, Index* to) {
  for (int64_t list = 0; list < lists.lists(); ++list)
    for (int64_t i = 0; i < lists.count(list); ++i) {
      const kernels::ScoreKey key = lists.keys(list)[i];
      *to++ = static_cast<Index>(list / lists.lists_per_image());
      *to++ = static_cast<Index>(lists.class_of(key));
      *to++ = static_cast<Index>(lists.box_of(key));
    }
}

void write_rows(const KeptLists& lists, DataType indices, const RunArguments& arguments) {
  int64_t total = 0;
  for (int64_t list = 0; list < lists.lists(); ++list) total += lists.count(list);
  require(total <= INT32_MAX, "{} boxes were kept, more than an int32 holds", total);
  void* const rows = (*arguments.allocate_output)(0, {total, 3});
  if (indices == DataType::kINT64)
    write_rows(lists, static_cast<int64_t*>(rows));
  else
    write_rows(lists, static_cast<int32_t*>(rows));
  *static_cast<int32_t*>(arguments.outputs[1]) = static_cast<int32_t>(total);
}

SharedExecution prepare(const Nms& op, std::span<const TensorSpec> inputs, const TensorSpec&) {
  const Nms::Sizes sizes = op.sizes_of(inputs[0].shape, inputs[1].shape);
  require(sizes.boxes * sizes.classes <= UINT32_MAX,
          "expected fewer than 2^32 scores in a batch element, found {} x {}", sizes.boxes,
          sizes.classes);
  const kernels::NmsShape shape{sizes.batches, sizes.boxes, sizes.classes, op.classes_first};
  // For as many boxes as there are: how many are kept at most is known when it runs.
  const size_t bytes = kernels::nms_workspace<Boxes>(shape, kernels::NmsRule{});
  std::vector<TensorView> views;
  for (const TensorSpec& s : inputs) views.push_back({nullptr, s.type, s.shape});
  return {bytes, [=](const kit::Device& device, const RunArguments& arguments) mutable {
            for (size_t i = 0; i < views.size(); ++i)
              views[i].data = const_cast<void*>(arguments.inputs[i]);
            const Suppression rule = op.rule_of(views);
            const Boxes boxes{views[0].as<float>(), sizes.boxes, sizes.box_classes,
                              op.format == BoundingBoxFormat::kCENTER_SIZES
                                  ? BoxCoding::kCenterSize
                                  : BoxCoding::kOppositeCorners};
            kernels::Carver carver(device.workspace);
            kernels::Nms<Boxes> nms(shape,
                                    {.overlap = rule.overlap,
                                     .score = rule.min_score,
                                     .considered = rule.considered,
                                     .max_boxes = rule.max_boxes},
                                    carver);
            write_rows(nms.run(device, views[1].as<float>(), boxes), op.indices_type, arguments);
          }};
}

}  // namespace

Offer offer_nms(const KernelRequest& request) {
  for (const size_t i : {0u, 1u})
    if (request.inputs[i].type != DataType::kFLOAT) return "boxes and scores are expected as float";
  return std::make_unique<SharedKernel<Nms>>(static_cast<const Nms&>(request.op), prepare);
}

}  // namespace tenon::cpu
