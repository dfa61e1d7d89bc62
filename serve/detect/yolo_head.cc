#include "yolo_head.h"

namespace tenon::serve {

YoloHead::YoloHead(std::string_view who, const View& head, int64_t others,
                   const DetectOptions& options)
    : head_(head) {
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
  if (head.type() == DataType::kHALF)
    halves_ = static_cast<const _Float16*>(head.data());
  else
    floats_ = static_cast<const float*>(head.data());
}

Candidates YoloHead::candidates(const DetectOptions& options) const {
  Candidates candidates(options);
  if (!options.boxes_first) {
    scan_classes(
        head_, 4 * boxes_, classes_, boxes_, options.score_threshold,
        [&](int64_t box, int64_t kind) { add(candidates, box, kind, options.multi_label); });
    return candidates;
  }
  std::vector<float> scores(static_cast<size_t>(classes_));
  for (int64_t box = 0; box < boxes_; ++box) {
    for (int64_t kind = 0; kind < classes_; ++kind)
      scores[static_cast<size_t>(kind)] = at(4 + kind, box);
    const int64_t best = best_class(scores.data(), classes_, 1);
    if (best >= 0) add(candidates, box, best, options.multi_label);
  }
  return candidates;
}

void YoloHead::add(Candidates& candidates, int64_t box, int64_t best, bool several) const {
  if (!several) return candidates.add(at(4 + best, box), best, box);
  for (int64_t kind = 0; kind < classes_; ++kind) candidates.add(at(4 + kind, box), kind, box);
}

}  // namespace tenon::serve
