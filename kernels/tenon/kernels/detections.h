/// Detections as most detectors' plugins give them: a number of rows for each image, best first.
#pragma once

#include "tenon/kernels/box_tensor.h"

namespace tenon::kernels::inline TENON_TARGET {

/// How detections are written.
struct DetectionFormat {
  bool clips = false;     ///< coordinates to [0, 1]
  bool is_logit = false;  ///< the scores are given as their sigmoid
  int32_t no_class = -1;  ///< of rows that are left; their other numbers are 0

  float score_of(float score) const { return is_logit ? 1 / (1 + std::exp(-score)) : score; }
  Box placed(const Box& b) const {
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
    const auto put = [&](int64_t at, const Box& b, float score, int64_t kind) {
      const float numbers[] = {b.x1, b.y1, b.x2, b.y2};
      kit::convert(numbers, boxes + at * 4, 4);
      scores[at] = static_cast<E>(score);
      classes[at] = static_cast<C>(kind);
    };
    for (int64_t image = 0; image < lists.images(); ++image) counts[image] = 0;
    for_each_best(
        device, lists, rows,
        [&](int64_t image, int64_t row, ScoreKey key) {
          const int64_t box = lists.box_of(key), kind = lists.class_of(key);
          put(image * rows + row, format.placed(from.corners(image, box, kind)),
              format.score_of(key.score()), kind);
          ++counts[image];
        },
        [&](int64_t image, int64_t row) { put(image * rows + row, {}, 0, format.no_class); });
  }
};

/// Three tensors: for each row a box and its score (N, rows, numbers of a box and 1), its class
/// (N, rows), and unless `indices` is null its index (N, rows).
template <class E> struct ScoredDetectionTensors {
  E* boxes;
  int32_t *classes, *indices;

  /// `stored(image, box, kind)` points at the `numbers` of a box, of which the first `clipped` are
  /// clipped to [0, 1].
  template <class Stored>
  void write(const kit::Device& device, const KeptLists& lists, int64_t rows, int64_t numbers,
             int64_t clipped, const Stored& stored) const {
    const auto put = [&](int64_t at, int64_t kind, int64_t box) {
      classes[at] = static_cast<int32_t>(kind);
      if (indices != nullptr) indices[at] = static_cast<int32_t>(box);
      return boxes + at * (numbers + 1);
    };
    for_each_best(
        device, lists, rows,
        [&](int64_t image, int64_t row, ScoreKey key) {
          const int64_t box = lists.box_of(key), kind = lists.class_of(key);
          E* const to = put(image * rows + row, kind, box);
          const E* const from = stored(image, box, kind);
          for (int64_t i = 0; i < numbers; ++i)
            to[i] = i < clipped ? static_cast<E>(std::clamp(static_cast<float>(from[i]), 0.f, 1.f))
                                : from[i];
          to[numbers] = static_cast<E>(key.score());
        },
        [&](int64_t image, int64_t row) {
          std::fill_n(put(image * rows + row, -1, -1), numbers + 1, static_cast<E>(0.f));
        });
  }
};

}  // namespace tenon::kernels::inline TENON_TARGET
