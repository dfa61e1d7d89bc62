// Heads of the YOLOv8 family: (4 + classes + others, boxes), or with the boxes first.
#pragma once

#include "candidates.h"

namespace tenon::serve {

class YoloHead {
 public:
  /// Throws unless it has 4 channels of boxes, one class or more, and `others` channels.
  YoloHead(std::string_view who, const View& head, int64_t others, const DetectOptions& options);

  int64_t classes() const { return classes_; }
  int64_t boxes() const { return boxes_; }
  float at(int64_t channel, int64_t box) const {
    return data_.data()[channel * channel_stride_ + box * box_stride_];
  }
  /// Channel `i` of those behind the classes.
  float other(int64_t i, int64_t box) const { return at(4 + classes_ + i, box); }
  Candidates candidates(const DetectOptions& options) const;
  Box box_at(const Candidate& candidate) const {
    return around(at(0, candidate.index), at(1, candidate.index), at(2, candidate.index),
                  at(3, candidate.index));
  }

 private:
  Floats data_;
  int64_t classes_ = 0, boxes_ = 0, channel_stride_ = 0, box_stride_ = 0;
};

/// Adds the best class above the threshold, or with `multi_label` all of them.
void add_classes(Candidates& candidates, const float* scores, int64_t classes, int64_t stride,
                 int64_t index, bool multi_label);

}  // namespace tenon::serve
