#include "tenon/serve/oriented_boxes.h"

#include "yolo_head.h"

namespace tenon::serve {

Result<std::vector<RotatedBox>> decode_oriented_boxes(const View& head,
                                                      const DetectOptions& options) noexcept {
  return session::guard([&] {
    const YoloHead channels("YOLOv8-obb", head, 1, options);
    const auto is_finite_box = [](const RotatedBox& box) {
      return std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.width)
             && std::isfinite(box.height) && std::isfinite(box.angle);
    };
    std::vector<RotatedBox> boxes;
    for (const Candidate& candidate : channels.candidates(options).take()) {
      const int64_t i = candidate.index;
      const RotatedBox box{.x = channels.at(0, i),
                           .y = channels.at(1, i),
                           .width = channels.at(2, i),
                           .height = channels.at(3, i),
                           .angle = channels.other(0, i),
                           .score = candidate.score,
                           .class_label = candidate.class_label,
                           .index = i};
      if (is_finite_box(box)) boxes.push_back(box);
    }
    std::vector<RotatedBox> kept;
    for (const int64_t i :
         session::value_of(rotated_nms(boxes, options.nms, RotatedOverlap::kProbabilisticIou))) {
      const RotatedBox box = mapped(options.to_picture, boxes[static_cast<size_t>(i)]);
      if (is_finite_box(box)) kept.push_back(regularized(box));
    }
    return kept;
  });
}

}  // namespace tenon::serve
