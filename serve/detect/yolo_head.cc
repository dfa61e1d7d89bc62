#include "yolo_head.h"

namespace tenon::serve {

YoloHead::YoloHead(std::string_view who, const View& head, int64_t others,
                   const DetectOptions& options)
    : data_(head) {
  require_options(who, options);
  const std::string channels =
      others == 0 ? "4 + classes" : "4 + classes + " + std::to_string(others);
  const int channel_axis = options.boxes_first ? 1 : 0;
  classes_ = head.size(channel_axis) - 4 - others;
  if (head.rank() != 2 || classes_ < 1)
    fail(who,
         options.boxes_first ? "a head of shape (boxes, " + channels + ")"
                             : "a head of shape (" + channels + ", boxes)",
         head.text());
  require_classes(who, options.classes, classes_);
  boxes_ = head.size(1 - channel_axis);
  channel_stride_ = options.boxes_first ? 1 : boxes_;
  box_stride_ = options.boxes_first ? 4 + classes_ + others : 1;
}

Candidates YoloHead::candidates(const DetectOptions& options) const {
  Candidates candidates(options);
  const float* const scores = data_.data() + 4 * channel_stride_;
  const auto add = [&](int64_t box) {
    add_classes(candidates, scores + box * box_stride_, classes_, channel_stride_, box,
                options.multi_label);
  };
  if (options.boxes_first)
    for (int64_t box = 0; box < boxes_; ++box) add(box);
  else
    scan_classes(scores, classes_, boxes_, options.score_threshold, add);
  return candidates;
}

void add_classes(Candidates& candidates, const float* scores, int64_t classes, int64_t stride,
                 int64_t index, bool multi_label) {
  if (multi_label) {
    for (int64_t kind = 0; kind < classes; ++kind)
      candidates.add(scores[kind * stride], kind, index);
    return;
  }
  const int64_t kind = best_class(scores, classes, stride);
  if (kind >= 0) candidates.add(scores[kind * stride], kind, index);
}

}  // namespace tenon::serve
