// Boxes from the outputs of detectors.
#include <tenon/serve/yolo.h>

#include <cmath>

#include "guard.h"
#include "stage_parameters.h"
#include "stages.h"
#include "tensor_memory.h"

namespace tenon::server {
namespace {

using serve::Box;
using serve::Tensors;
using session::value_of;
using Decode = Result<std::vector<Box>> (*)(const serve::View&,
                                            const serve::DetectOptions&) noexcept;

serve::DetectOptions placed(serve::DetectOptions options, Tensor& placement) {
  const float* const numbers = value_of(placement.cpu<float>());
  for (int i = 0; i < 8; ++i)
    if (!std::isfinite(numbers[i]))
      throw Error{"input 'placement' has a number that is not finite"};
  std::copy_n(numbers, 6, options.to_picture.begin());
  constexpr float kMost = 1 << 24;
  if (!(numbers[6] >= 0 && numbers[6] <= kMost && numbers[7] >= 0 && numbers[7] <= kMost))
    throw Error{"input 'placement': expected the picture's width and height, 0 to "
                + std::to_string(1 << 24) + ", at positions 6 and 7"};
  options.width = static_cast<int64_t>(numbers[6]);
  options.height = static_cast<int64_t>(numbers[7]);
  return options;
}

Tensors found_in(Tensors& inputs, Decode decode, const serve::DetectOptions& options) {
  const auto view = value_of(serve::View::of_item(inputs[0], 0));
  const std::vector<Box> boxes = value_of(decode(view, placed(options, inputs[1])));
  const auto count = static_cast<int64_t>(boxes.size());
  Tensors made;
  made.push_back(heap_tensor({count, 4}, DataType::kFLOAT));
  made.push_back(heap_tensor({count}, DataType::kFLOAT));
  made.push_back(heap_tensor({count}, DataType::kINT32));
  if (boxes.empty()) return made;
  float* edges = value_of(made[0].cpu<float>());
  float* scores = value_of(made[1].cpu<float>());
  int32_t* classes = value_of(made[2].cpu<int32_t>());
  for (const Box& box : boxes) {
    for (const float edge : {box.left, box.top, box.right, box.bottom}) *edges++ = edge;
    *scores++ = box.score;
    *classes++ = box.class_label;
  }
  return made;
}

}  // namespace

PipelineParts boxes_stage(const ModelConfig& config) {
  StageParameters parameters(config);
  constexpr Decode kDecoders[] = {serve::decode_yolo_v8, serve::decode_yolo_v5,
                                  serve::decode_yolo_v10};
  const Decode decode = kDecoders[parameters.choice("head", {"yolov8", "yolov5", "yolov10"})];
  serve::DetectOptions options;
  options.score_threshold =
      static_cast<float>(parameters.number("score_threshold", options.score_threshold, 0, 1));
  options.nms.iou_threshold =
      static_cast<float>(parameters.number("iou_threshold", options.nms.iou_threshold, 0, 1));
  options.nms.max_boxes = parameters.whole("max_boxes", options.nms.max_boxes, 1, 100000);
  parameters.finish();
  PipelineParts parts;
  parts.metadata.inputs = {{"head", DataType::kFLOAT, {1, -1, -1}},
                           {"placement", DataType::kFLOAT, {8}}};
  parts.metadata.outputs = {{"detection_boxes", DataType::kFLOAT, {-1, 4}},
                            {"detection_scores", DataType::kFLOAT, {-1}},
                            {"detection_classes", DataType::kINT32, {-1}}};
  parts.ranges = {{{1, 1, 1}, {1, INT64_MAX, INT64_MAX}}, {{8}, {8}}};
  parts.instances.push_back({[decode, options](std::span<Tensors* const> jobs) {
                               std::vector<Tensors> made;
                               made.push_back(found_in(*jobs.front(), decode, options));
                               return serve::BatchResult<Tensors>(std::move(made));
                             },
                             {}});
  return parts;
}

}  // namespace tenon::server
