/// Non-maximum suppression: of boxes that overlap, the one with the best score is kept.
///
/// Greedy, as in torchvision.ops.nms and ONNX NonMaxSuppression. Exact and deterministic: every
/// candidate is looked at, and of equal scores the one of the lower index comes first.
#pragma once

#include <tenon/plugin/convert.h>
#include <tenon/plugin/device.h>

#include "tenon/kernels/kept_boxes.h"
#include "tenon/kernels/score_key.h"
#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Scores are (images, boxes, classes), or with `classes_first` (images, classes, boxes).
struct NmsShape {
  int64_t images, boxes, classes;  // boxes * classes is below 2^32
  bool classes_first = false;
};

struct NmsRule {
  float overlap = 0.5f;            ///< what kept boxes share is at most this part of their union
  float score = -INFINITY;         ///< candidates have a score above
  int64_t considered = INT64_MAX;  ///< so many of the best candidates of a list are looked at
  int64_t most = INT64_MAX;        ///< so many boxes of a list are kept
  int64_t background = -1;         ///< the class that is left out
  bool across_classes = false;     ///< boxes of one class suppress those of others; classes last
};

/// `x` such that "above x" is "x or above".
inline float just_below(float x) {
  return std::nextafter(x, -INFINITY);
}

/// What is kept: a list for each image and class, or for each image when the rule goes across
/// classes. The best comes first.
class KeptLists {
 public:
  KeptLists(const NmsShape& shape, const NmsRule& rule)
      : classes_(shape.classes),
        lists_per_image_(rule.across_classes ? 1 : shape.classes),
        lists_(shape.images * lists_per_image_),
        capacity_(shape.boxes * (rule.across_classes ? shape.classes : 1)) {}

  void carve(Carver& carver) {
    keys_ = carver.array<ScoreKey>(lists_ * capacity_);
    counts_ = carver.array<int64_t>(lists_);
  }

  int64_t images() const { return lists_ / std::max<int64_t>(lists_per_image_, 1); }
  int64_t lists() const { return lists_; }
  int64_t lists_per_image() const { return lists_per_image_; }
  /// Candidates of a list at most.
  int64_t capacity() const { return capacity_; }
  int64_t list_of(int64_t image, int64_t kind) const {
    return image * lists_per_image_ + (lists_per_image_ == 1 ? 0 : kind);
  }
  int64_t& count(int64_t list) const { return counts_[list]; }
  ScoreKey* keys(int64_t list) const { return keys_ + list * capacity_; }
  int64_t box_of(ScoreKey key) const { return key.index() / static_cast<uint32_t>(classes_); }
  int64_t class_of(ScoreKey key) const { return key.index() % static_cast<uint32_t>(classes_); }

  /// The best `most` of an image, over all its lists, as the first of them.
  ScoreKey* best(int64_t image, int64_t most) const {
    const int64_t first = image * lists_per_image_;
    ScoreKey* const all = keys(first);
    int64_t total = 0;
    for (int64_t list = first; list < first + lists_per_image_; ++list) {
      std::copy_n(keys(list), counts_[list], all + total);  // towards the front
      total += std::exchange(counts_[list], 0);
    }
    counts_[first] = std::min(total, most);
    if (total > most) std::nth_element(all, all + most, all + total);
    std::sort(all, all + counts_[first]);
    return all;
  }

  void append(int64_t image, int64_t box, int64_t kind, float score) const {
    const int64_t list = list_of(image, kind);
    keys(list)[counts_[list]++] = ScoreKey::of(score, static_cast<uint32_t>(box * classes_ + kind));
  }

 private:
  int64_t classes_, lists_per_image_, lists_, capacity_;
  ScoreKey* keys_ = nullptr;
  int64_t* counts_ = nullptr;
};

#if !defined(__CUDACC__)

/// Calls hit(i, score) for those of `count` scores that are above `least`, in order.
template <class E, class F>
void for_each_above(const E* scores, int64_t count, float least, const F& hit) {
  constexpr int64_t kBlock = 16;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    float values[kBlock];
    if (n == kBlock) {
      kit::convert(scores + begin, values, kBlock);
      int any = 0;
      for (const float v : values) any |= static_cast<int>(v > least);
      if (any == 0) continue;
    } else {
      kit::convert(scores + begin, values, n);
    }
    for (int64_t i = 0; i < n; ++i)
      if (values[i] > least) hit(begin + i, values[i]);
  }
}

/// Calls found(image, row, key) for the best `rows` boxes of each image over all its lists, and
/// missing(image, row) for the rows that are left.
template <class Found, class Missing>
void for_each_best(const kit::Device& device, const KeptLists& lists, int64_t rows,
                   const Found& found, const Missing& missing) {
  device.parallel_ranges(lists.images(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const ScoreKey* const best = lists.best(image, rows);
      const int64_t count = lists.count(image * lists.lists_per_image());
      for (int64_t row = 0; row < rows; ++row) {
        if (row < count)
          found(image, row, best[row]);
        else
          missing(image, row);
      }
    }
  });
}

/// `Boxes` gives them: Boxes::Kept::Type operator()(int64_t image, int64_t box, int64_t kind).
template <class Boxes> class Nms {
 public:
  using Kept = typename Boxes::Kept;

  Nms(const NmsShape& shape, const NmsRule& rule, Carver& carver)
      : shape_(shape), rule_(rule), lists_(shape, rule) {
    lists_.carve(carver);
    lanes_ = std::min(lists_.lists(), kMostLanes);
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      memory_[lane].room = carver.array<ScoreKey>(lists_.capacity());
      memory_[lane].kept = Kept::Memory::carve(carver, most());
    }
  }

  template <class E>
  const KeptLists& run(const kit::Device& device, const E* scores, const Boxes& boxes) {
    collect(device, scores);
    device.parallel_ranges(lanes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t lane = begin; lane < end; ++lane)
        for (int64_t list = lane; list < lists_.lists(); list += lanes_)
          suppress(list, boxes, memory_[lane]);
    });
    return lists_;
  }

 private:
  static constexpr int64_t kMostLanes = 8;
  // What the one thread that is in a lane works with.
  struct Memory {
    ScoreKey* room;
    typename Kept::Memory kept;
  };

  int64_t most() const { return std::clamp<int64_t>(rule_.most, 0, lists_.capacity()); }

  // Candidates of each list, by index.
  template <class E> void collect(const kit::Device& device, const E* scores) const {
    constexpr int64_t kClasses = 16;  // that share a cache line
    const bool whole = rule_.across_classes || (!shape_.classes_first && shape_.classes == 1);
    const int64_t group = whole ? shape_.classes : shape_.classes_first ? 1 : kClasses;
    const int64_t groups = (shape_.classes + group - 1) / group;
    const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, shape_.boxes * group));
    device.parallel_ranges(shape_.images * groups, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % groups * group;
        collect(scores, i / groups, first, std::min(first + group, shape_.classes));
      }
    });
  }

  // Those of classes [begin, end) of one image.
  template <class E>
  void collect(const E* scores, int64_t image, int64_t begin, int64_t end) const {
    const int64_t boxes = shape_.boxes, classes = shape_.classes;
    const E* const first = scores + image * boxes * classes;
    for (int64_t kind = begin; kind < end; ++kind) lists_.count(lists_.list_of(image, kind)) = 0;
    const auto append = [&](int64_t box, int64_t kind, float score) {
      if (kind != rule_.background) lists_.append(image, box, kind, score);
    };
    if (shape_.classes_first) {
      for (int64_t kind = begin; kind < end; ++kind)
        for_each_above(first + kind * boxes, boxes, rule_.score,
                       [&](int64_t i, float score) { append(i, kind, score); });
    } else if (end - begin == classes) {
      for_each_above(first, boxes * classes, rule_.score,
                     [&](int64_t i, float score) { append(i / classes, i % classes, score); });
    } else {
      for (int64_t box = 0; box < boxes; ++box)
        for_each_above(first + box * classes + begin, end - begin, rule_.score,
                       [&](int64_t i, float score) { append(box, begin + i, score); });
    }
  }

  // Leaves of a list what is kept.
  void suppress(int64_t list, const Boxes& boxes, const Memory& memory) const {
    const int64_t image = list / lists_.lists_per_image(), most = this->most();
    ScoreKey* const out = lists_.keys(list);
    const int64_t count = lists_.count(list);
    const ScoreKey* const sorted = sort_keys(out, memory.room, count);
    Kept kept(memory.kept, std::min(count, most), rule_.overlap);
    int64_t found = 0;
    for (int64_t i = 0; i < std::min(count, rule_.considered) && found < most; ++i) {
      const ScoreKey key = sorted[i];
      const auto box = boxes(image, lists_.box_of(key), lists_.class_of(key));
      if (kept.overlaps(box)) continue;
      out[found++] = key;
      if (found < most) kept.add(box);
    }
    lists_.count(list) = found;
  }

  NmsShape shape_;
  NmsRule rule_;
  KeptLists lists_;
  int64_t lanes_;
  Memory memory_[kMostLanes];
};

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
