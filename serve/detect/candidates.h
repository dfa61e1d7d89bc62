// Candidates of a head: what is above the threshold, before a box is computed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "head.h"
#include "tenon/serve/detect_options.h"

namespace tenon::serve {

struct Candidate {
  float score;
  int32_t class_label;
  int64_t index;
};

/// The best of what is added, in the order in which it was added. Holds a limited number.
class Candidates {
 public:
  explicit Candidates(const DetectOptions& options)
      : threshold_(options.score_threshold), max_(options.nms.max_candidates) {}

  float threshold() const { return threshold_; }
  /// Takes those above the threshold; NaN is not.
  void add(float score, int64_t class_label, int64_t index) {
    if (!(score > threshold_)) return;
    all_.push_back({score, static_cast<int32_t>(class_label), index});
    if (static_cast<int64_t>(all_.size()) >= 2 * std::min(max_, kMaxHeld)) cut();
  }
  std::vector<Candidate> take() {
    cut();
    return std::move(all_);
  }

 private:
  static constexpr int64_t kMaxHeld = int64_t{1} << 40;  // twice as many can be counted

  void cut();

  float threshold_;
  int64_t max_;
  std::vector<Candidate> all_;
};

/// The best class of `count` scores, of equal ones the first; NaNs are none. -1 where there is
/// none.
inline int64_t best_class(const float* scores, int64_t count, int64_t stride) {
  int64_t best = -1;
  float highest = -INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    const float score = scores[i * stride];
    if (score > highest || (best < 0 && score == highest)) {
      highest = score;
      best = i;
    }
  }
  return best;
}

/// Calls hit(box, class) for boxes whose best class is above `threshold`, in ascending order; of
/// equal scores it is the first class. Scores are (classes, boxes) from element `begin` of a view
/// on.
void scan_classes(const View& scores, int64_t begin, int64_t classes, int64_t boxes,
                  float threshold, const std::function<void(int64_t, int64_t)>& hit);

inline bool is_finite(const Box& box) {
  return std::isfinite(box.left) && std::isfinite(box.top) && std::isfinite(box.right)
         && std::isfinite(box.bottom);
}

/// The boxes of candidates, in their order. box_at(candidate) gives the edges in pixels of the
/// engine's input, and nothing else.
template <class F> std::vector<Box> boxes_of(Candidates candidates, const F& box_at) {
  std::vector<Box> boxes;
  const auto all = candidates.take();
  boxes.reserve(all.size());
  for (const Candidate& candidate : all) {
    Box box = box_at(candidate);
    if (!is_finite(box)) continue;
    box.score = candidate.score;
    box.class_label = candidate.class_label;
    box.index = candidate.index;
    boxes.push_back(box);
  }
  return boxes;
}

/// Boxes of the engine's input in the picture, without those that the matrix makes infinite.
std::vector<Box> in_picture(const std::vector<Box>& boxes, const DetectOptions& options);
/// What NMS keeps of them.
std::vector<Box> kept_in_picture(const std::vector<Box>& boxes, const DetectOptions& options);
template <class F>
std::vector<Box> kept_boxes(Candidates candidates, const DetectOptions& options, const F& box_at) {
  return kept_in_picture(boxes_of(std::move(candidates), box_at), options);
}

/// From a centre and extents.
inline Box around(float x, float y, float width, float height) {
  return {.left = x - width / 2,
          .top = y - height / 2,
          .right = x + width / 2,
          .bottom = y + height / 2};
}

}  // namespace tenon::serve
