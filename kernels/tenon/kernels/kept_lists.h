/// What non-maximum suppression is given, and what it keeps.
#pragma once

#include <tenon/plugin/device.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "tenon/kernels/score_key.h"
#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Scores are (images, boxes, classes), or with `classes_first` (images, classes, boxes).
struct NmsShape {
  int64_t images, boxes, classes;
  bool classes_first = false;
  bool best_class = false;  ///< a box is a candidate of one class at most
};

struct NmsRule {
  /// What kept boxes share is at most this part of their union; infinity keeps all.
  float overlap = 0.5f;
  float score = -INFINITY;         ///< candidates have a score above
  int64_t considered = INT64_MAX;  ///< so many of the best candidates of a list are looked at
  int64_t max_boxes = INT64_MAX;   ///< so many boxes of a list are kept
  int64_t background = -1;         ///< the class that is left out
  bool across_classes = false;     ///< boxes of one class suppress those of others; classes last
};

/// Throws std::invalid_argument for what no overlap can be.
inline void require_overlap(float overlap) {
  if (!(overlap >= 0))
    throw std::invalid_argument("expected an IoU threshold of 0 or more, found "
                                + std::to_string(overlap));
}

/// `x` such that "above x" is "x or above".
inline float just_below(float x) {
  return std::nextafter(x, -INFINITY);
}

/// What is kept: a list for each image and class, or for each image when the rule goes across
/// classes. The best comes first.
class KeptLists {
 public:
  /// Throws std::invalid_argument for more candidates of an image than keys have numbers for.
  KeptLists(const NmsShape& shape, const NmsRule& rule)
      : classes_(shape.classes),
        lists_per_image_(rule.across_classes ? 1 : shape.classes),
        lists_(shape.images * lists_per_image_),
        capacity_(shape.boxes * (rule.across_classes && !shape.best_class ? shape.classes : 1)) {
    if (shape.classes > 0 && shape.boxes > int64_t{UINT32_MAX} / shape.classes)
      throw std::invalid_argument("expected fewer than 2^32 scores in an image, found "
                                  + std::to_string(shape.boxes) + " boxes of "
                                  + std::to_string(shape.classes) + " classes");
  }

  void carve(Carver& carver) {
    keys_ = carver.array<ScoreKey>(lists_ * capacity_);
    counts_ = carver.array<int64_t>(lists_);
  }

  TENON_HD int64_t images() const { return lists_ / std::max<int64_t>(lists_per_image_, 1); }
  TENON_HD int64_t lists() const { return lists_; }
  TENON_HD int64_t lists_per_image() const { return lists_per_image_; }
  /// Candidates of a list at most.
  TENON_HD int64_t capacity() const { return capacity_; }
  TENON_HD int64_t list_of(int64_t image, int64_t kind) const {
    return image * lists_per_image_ + (lists_per_image_ == 1 ? 0 : kind);
  }
  TENON_HD int64_t& count(int64_t list) const { return counts_[list]; }
  TENON_HD ScoreKey* keys(int64_t list) const { return keys_ + list * capacity_; }
  TENON_HD int64_t box_of(ScoreKey key) const {
    return key.index() / static_cast<uint32_t>(classes_);
  }
  TENON_HD int64_t class_of(ScoreKey key) const {
    return key.index() % static_cast<uint32_t>(classes_);
  }

  /// The best `max_boxes` of an image, over all its lists, become the first of them. Returns how
  /// many.
  TENON_DEVICE int64_t take_best(const kit::Team& team, int64_t image, int64_t max_boxes) const;

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

inline int64_t KeptLists::take_best(const kit::Team&, int64_t image, int64_t max_boxes) const {
  const int64_t first = image * lists_per_image_;
  ScoreKey* const all = keys(first);
  int64_t total = 0;
  for (int64_t list = first; list < first + lists_per_image_; ++list) {
    std::copy_n(keys(list), counts_[list], all + total);  // towards the front
    total += std::exchange(counts_[list], 0);
  }
  counts_[first] = std::min(total, max_boxes);
  if (total > max_boxes) std::nth_element(all, all + max_boxes, all + total);
  std::sort(all, all + counts_[first]);
  return counts_[first];
}

#else

__device__ inline int64_t KeptLists::take_best(const kit::Team& team, int64_t image,
                                               int64_t max_boxes) const {
  const int64_t first = image * lists_per_image_;
  ScoreKey* const all = keys(first);
  int64_t total = 0;
  for (int64_t list = first; list < first + lists_per_image_; ++list) {
    const int64_t count = counts_[list];
    for (int64_t begin = 0; begin < count; begin += kit::Team::kThreads) {  // towards the front
      const int64_t i = begin + threadIdx.x;
      const ScoreKey key = i < count ? keys(list)[i] : ScoreKey::none();
      __syncthreads();
      if (i < count) all[total + i] = key;
      __syncthreads();
    }
    total += count;
  }
  sort_keys(team, all, total);
  const int64_t taken = total < max_boxes ? total : max_boxes;
  team.each(lists_per_image_, [&](int64_t list) { counts_[first + list] = list == 0 ? taken : 0; });
  __syncthreads();
  return taken;
}

#endif

/// Merges the lists of each image.
struct TakeBest {
  KeptLists lists;
  int64_t max_boxes;

  TENON_DEVICE void operator()(const kit::Team& team, int64_t image) const {
    lists.take_best(team, image, max_boxes);
  }
};

/// Calls of `out` for each image: counted(image, count), found(image, row, key) for the best `rows`
/// boxes over all its lists, and missing(image, row) for the rows that are left.
template <class Out> struct WriteBest {
  KeptLists lists;
  int64_t rows;
  Out out;

  TENON_DEVICE void operator()(const kit::Team& team, int64_t image) const {
    const int64_t count = lists.take_best(team, image, rows);
    const ScoreKey* const best = lists.keys(image * lists.lists_per_image());
    team.each(1, [&](int64_t) { out.counted(image, count); });
    team.each(rows, [&](int64_t row) {
      if (row < count)
        out.found(image, row, best[row]);
      else
        out.missing(image, row);
    });
  }
};

}  // namespace tenon::kernels::inline TENON_TARGET
