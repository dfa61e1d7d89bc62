/// Detections as most detectors' plugins give them: a number of rows for each image, best first.
#pragma once

#include <cmath>

#include "tenon/kernels/box_tensor.h"
#include "tenon/kernels/kept_lists.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Throws std::invalid_argument for limits that detectors' plugins cannot have.
inline void require_limits(int64_t rows, float overlap) {
  if (rows < 0)
    throw std::invalid_argument("expected 0 or more boxes to keep, found " + std::to_string(rows));
  require_overlap(overlap);
}

/// How detections are written.
struct DetectionFormat {
  bool clips = false;     ///< coordinates to [0, 1]
  bool is_logit = false;  ///< the scores are given as their sigmoid
  int32_t no_class = -1;  ///< of rows that are left; their other numbers are 0

  TENON_HD float score_of(float score) const { return is_logit ? 1 / (1 + expf(-score)) : score; }
  TENON_HD Box placed(const Box& b) const {
    if (!clips) return b;
    return {std::clamp(b.x1, 0.f, 1.f), std::clamp(b.y1, 0.f, 1.f), std::clamp(b.x2, 0.f, 1.f),
            std::clamp(b.y2, 0.f, 1.f)};
  }
};

/// Four tensors: how many (N, 1), and for each row a box (N, rows, 4), its score (N, rows) and its
/// class (N, rows).
template <class E, class C> struct DetectionTensors {
  int32_t* counts;
  E *boxes, *scores;
  C* classes;

  template <class Boxes>
  void write(const kit::Device& device, const KeptLists& lists, int64_t rows, const Boxes& from,
             const DetectionFormat& format) const {
    device.parallel_rows(lists.images(),
                         WriteBest<Rows<Boxes>>{lists, rows, {*this, lists, rows, from, format}});
  }

  template <class Boxes> struct Rows {
    DetectionTensors to;
    KeptLists lists;
    int64_t rows;
    Boxes from;
    DetectionFormat format;

    TENON_HD void counted(int64_t image, int64_t count) const {
      to.counts[image] = static_cast<int32_t>(count);
    }
    TENON_HD void found(int64_t image, int64_t row, ScoreKey key) const {
      const int64_t box = lists.box_of(key), kind = lists.class_of(key);
      to.put(image * rows + row, format.placed(from.corners(image, box, kind)),
             format.score_of(key.score()), kind);
    }
    TENON_HD void missing(int64_t image, int64_t row) const {
      to.put(image * rows + row, {}, 0, format.no_class);
    }
  };
  TENON_HD void put(int64_t at, const Box& b, float score, int64_t kind) const {
    E* const box = boxes + at * 4;
    box[0] = static_cast<E>(b.x1);
    box[1] = static_cast<E>(b.y1);
    box[2] = static_cast<E>(b.x2);
    box[3] = static_cast<E>(b.y2);
    scores[at] = static_cast<E>(score);
    classes[at] = static_cast<C>(kind);
  }
};

/// Three tensors: for each row a box and its score (N, rows, numbers of a box and 1), its class
/// (N, rows), and unless `indices` is null its index (N, rows).
template <class E> struct ScoredDetectionTensors {
  E* boxes;
  int32_t *classes, *indices;

  /// from.stored(image, box, kind) points at the `numbers` of a box, of which the first `clipped`
  /// are clipped to [0, 1].
  template <class Boxes>
  void write(const kit::Device& device, const KeptLists& lists, int64_t rows, int64_t numbers,
             int64_t clipped, const Boxes& from) const {
    device.parallel_rows(
        lists.images(),
        WriteBest<Rows<Boxes>>{lists, rows, {*this, lists, rows, numbers, clipped, from}});
  }

  template <class Boxes> struct Rows {
    ScoredDetectionTensors to;
    KeptLists lists;
    int64_t rows, numbers, clipped;
    Boxes from;

    TENON_HD void counted(int64_t, int64_t) const {}
    TENON_HD void found(int64_t image, int64_t row, ScoreKey key) const {
      const int64_t box = lists.box_of(key), kind = lists.class_of(key);
      E* const detection = put(image * rows + row, kind, box);
      const E* const stored = from.stored(image, box, kind);
      for (int64_t i = 0; i < numbers; ++i)
        detection[i] = i < clipped
                           ? static_cast<E>(std::clamp(static_cast<float>(stored[i]), 0.f, 1.f))
                           : stored[i];
      detection[numbers] = static_cast<E>(key.score());
    }
    TENON_HD void missing(int64_t image, int64_t row) const {
      E* const detection = put(image * rows + row, -1, -1);
      for (int64_t i = 0; i <= numbers; ++i) detection[i] = static_cast<E>(0.f);
    }
    TENON_HD E* put(int64_t at, int64_t kind, int64_t box) const {
      to.classes[at] = static_cast<int32_t>(kind);
      if (to.indices != nullptr) to.indices[at] = static_cast<int32_t>(box);
      return to.boxes + at * (numbers + 1);
    }
  };
};

}  // namespace tenon::kernels::inline TENON_TARGET
