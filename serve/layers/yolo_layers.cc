#include "tenon/serve/yolo_layers.h"

#include <algorithm>
#include <array>

#include "guard.h"
#include "network_layers.h"
#include "plugin_layer.h"

namespace tenon::serve {

using nvinfer1::INetworkDefinition;
using nvinfer1::ITensor;

namespace {

// Throws Error unless it can be decoded.
void check_head(const ITensor& head, const YoloLayerOptions& options) {
  using Format = YoloLayerOptions::Format;
  const nvinfer1::Dims dims = head.getDimensions();
  const bool is_v8 = options.format == Format::kV8, has_class = options.format == Format::kV10;
  const int64_t others = int64_t{options.keypoints} * options.keypoint_numbers
                         + options.coefficients + (options.is_oriented ? 1 : 0);
  const int64_t channels = dims.nbDims == 3 ? dims.d[is_v8 ? 1 : 2] : 0;
  const int64_t classes = channels - others - (is_v8 ? 4 : has_class ? 6 : 5);
  if (channels == -1 || (has_class ? classes == 0 : classes > 0)) return;
  const std::string more = others == 0 ? "" : " + " + std::to_string(others);
  throw Error{std::string("output '") + head.getName() + "' is of shape " + dims_text(dims)
              + ": DecodeYolo takes "
              + (is_v8       ? "(N, 4 + classes" + more + ", boxes)"
                 : has_class ? "(N, boxes, 6" + more + ")"
                             : "(N, boxes, 5 + classes" + more + ")")};
}

}  // namespace

Result<void> append_yolo(INetworkDefinition& network, const YoloLayerOptions& options,
                         ITensor* to_image) noexcept {
  return session::guard([&] {
    ITensor& head = chosen_output(network, options.output);
    check_head(head, options);
    Fields fields;
    using Format = YoloLayerOptions::Format;
    fields.set("format", options.format == Format::kV8   ? "v8"
                         : options.format == Format::kV5 ? "v5"
                                                         : "v10");
    fields.set("score_threshold", options.score_threshold);
    fields.set("iou_threshold", options.iou_threshold);
    fields.set("max_output_boxes", options.max_boxes);
    fields.set("class_agnostic", int32_t{options.class_agnostic});
    fields.set("keypoints", options.keypoints);
    fields.set("keypoint_numbers", options.keypoint_numbers);
    fields.set("coefficients", options.coefficients);
    fields.set("oriented", int32_t{options.is_oriented});
    std::vector<ITensor*> inputs{&head};
    if (to_image != nullptr) inputs.push_back(to_image);
    auto& layer = add_plugin(network, "DecodeYolo", fields, std::move(inputs));
    network.unmarkOutput(head);
    const std::array names = {
        "num_detections", "detection_boxes", "detection_scores", "detection_classes",
        options.keypoints > 0 ? "detection_keypoints" : "detection_coefficients"};
    for (int32_t i = 0; i < layer.getNbOutputs(); ++i) {
      layer.getOutput(i)->setName(names[static_cast<size_t>(i)]);
      network.markOutput(*layer.getOutput(i));
    }
  });
}

namespace {

// What append_yolo gives of one job.
struct Detections {
  int64_t count, rows;
  const float *boxes, *scores;
  const int32_t* classes;
};

// Throws Error for other tensors than append_yolo makes, with so many numbers of a box.
Detections checked_detections(std::vector<Tensor>& outputs, int64_t numbers) {
  const auto is_of = [&](size_t i, DataType type, int rank) {
    return outputs[i].type() == type && outputs[i].ndims() == rank && outputs[i].size(0) == 1;
  };
  if (outputs.size() < 4 || !is_of(0, DataType::kINT32, 2) || !is_of(1, DataType::kFLOAT, 3)
      || !is_of(2, DataType::kFLOAT, 2) || !is_of(3, DataType::kINT32, 2)
      || outputs[1].size(2) != numbers || outputs[1].size(1) != outputs[2].size(1)
      || outputs[2].size(1) != outputs[3].size(1))
    throw Error{"detections are num_detections (1, 1), detection_boxes (1, rows, "
                + std::to_string(numbers)
                + "), detection_scores (1, rows) and detection_classes (1, rows), as append_yolo "
                  "makes them: found "
                + std::to_string(outputs.size()) + " other tensors"};
  const int64_t rows = outputs[2].size(1);
  const int32_t count = *session::value_of(outputs[0].cpu<int32_t>());
  return {std::clamp<int64_t>(count, 0, rows), rows, session::value_of(outputs[1].cpu<float>()),
          session::value_of(outputs[2].cpu<float>()), session::value_of(outputs[3].cpu<int32_t>())};
}

Box box_at(const Detections& found, int64_t i) {
  const float* const box = found.boxes + i * 4;
  return {.left = box[0],
          .top = box[1],
          .right = box[2],
          .bottom = box[3],
          .score = found.scores[i],
          .class_label = found.classes[i],
          .index = i};
}

}  // namespace

Result<std::vector<Box>> detections_of(std::vector<Tensor>& outputs) noexcept {
  return session::guard([&] {
    const Detections found = checked_detections(outputs, 4);
    std::vector<Box> boxes;
    for (int64_t i = 0; i < found.count; ++i) boxes.push_back(box_at(found, i));
    return boxes;
  });
}

Result<std::vector<Pose>> poses_of(std::vector<Tensor>& outputs) noexcept {
  return session::guard([&] {
    const Detections found = checked_detections(outputs, 4);
    if (outputs.size() < 5 || outputs[4].type() != DataType::kFLOAT || outputs[4].ndims() != 4
        || outputs[4].size(0) != 1 || outputs[4].size(1) != found.rows
        || (outputs[4].size(3) != 2 && outputs[4].size(3) != 3))
      throw Error{
          "poses have detection_keypoints (1, rows, keypoints, 2 or 3) as the fifth output"};
    const int64_t keypoints = outputs[4].size(2), numbers = outputs[4].size(3);
    const float* point = session::value_of(outputs[4].cpu<float>());
    std::vector<Pose> poses;
    for (int64_t i = 0; i < found.count; ++i) {
      Pose& pose = poses.emplace_back(Pose{box_at(found, i), {}});
      for (int64_t k = 0; k < keypoints; ++k, point += numbers)
        pose.keypoints.push_back({point[0], point[1], numbers == 3 ? point[2] : 1.0F});
    }
    return poses;
  });
}

Result<std::vector<RotatedBox>> oriented_boxes_of(std::vector<Tensor>& outputs) noexcept {
  return session::guard([&] {
    const Detections found = checked_detections(outputs, 5);
    std::vector<RotatedBox> boxes;
    for (int64_t i = 0; i < found.count; ++i) {
      const float* const box = found.boxes + i * 5;
      boxes.push_back({.x = box[0],
                       .y = box[1],
                       .width = box[2],
                       .height = box[3],
                       .angle = box[4],
                       .score = found.scores[i],
                       .class_label = found.classes[i],
                       .index = i});
    }
    return boxes;
  });
}

}  // namespace tenon::serve
