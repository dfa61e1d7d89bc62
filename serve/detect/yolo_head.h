// Heads of the YOLOv8 family: (4 + classes + others, boxes), or with the boxes first.
#pragma once

#include "candidates.h"

namespace tenon::serve {

class YoloHead {
 public:
  /// @param head it is used as long as this.
  /// Throws unless it has 4 channels of boxes, one class or more, and `others` channels.
  YoloHead(std::string_view who, const View& head, int64_t others, const DetectOptions& options);

  int64_t classes() const { return classes_; }
  int64_t boxes() const { return boxes_; }
  float at(int64_t channel, int64_t box) const {
    const int64_t i = channel * channel_stride_ + box * box_stride_;
    return halves_ == nullptr ? floats_[i] : static_cast<float>(halves_[i]);
  }
  /// Channel `i` of those behind the classes.
  float other(int64_t i, int64_t box) const { return at(4 + classes_ + i, box); }
  Candidates candidates(const DetectOptions& options) const;
  Box box_at(const Candidate& candidate) const {
    return around(at(0, candidate.index), at(1, candidate.index), at(2, candidate.index),
                  at(3, candidate.index));
  }

 private:
  // The best of a class, or with `several` each of them.
  void add(Candidates& candidates, int64_t box, int64_t best, bool several) const;

  const View& head_;
  const float* floats_ = nullptr;
  const _Float16* halves_ = nullptr;  // widened one by one: few are read, but for the scan
  int64_t classes_ = 0, boxes_ = 0, channel_stride_ = 0, box_stride_ = 0;
};

}  // namespace tenon::serve
