/// Heads of YOLO networks whose boxes are decoded: a box is a candidate of its best class.
#pragma once

#include <cmath>

#include "tenon/kernels/nms.h"

namespace tenon::kernels::inline TENON_TARGET {

/// For each image and box its best class, and the score of it: -infinity for what is no candidate.
struct BestClasses {
  float* scores;
  int32_t* kinds;

  static BestClasses carve(Carver& carver, int64_t count) {
    BestClasses best{};
    best.scores = carver.array<float>(count);
    best.kinds = carver.array<int32_t>(count);
    return best;
  }

#if !defined(__CUDACC__)
  void collect(const kit::Device& device, const NmsShape& shape, const NmsRule& rule,
               const KeptLists& lists) const {
    device.parallel_ranges(shape.images, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image) {
        for (int64_t list = 0; list < lists.lists_per_image(); ++list)
          lists.count(image * lists.lists_per_image() + list) = 0;
        const int32_t* const kind = kinds + image * shape.boxes;
        for_each_above(
            scores + image * shape.boxes, shape.boxes, rule.score,
            [&](int64_t box, float score) { lists.append(image, box, kind[box], score); });
      }
    });
  }
#else
  __device__ ScoreKey key(const NmsShape& shape, const NmsRule& rule, const KeptLists& lists,
                          int64_t list, int64_t box) const {
    const int64_t i = list / lists.lists_per_image() * shape.boxes + box;
    const int32_t kind = kinds[i];
    const bool is_of_list = rule.across_classes || kind == list % lists.lists_per_image();
    if (!is_of_list || !(scores[i] > rule.score)) return ScoreKey::none();
    return ScoreKey::of(scores[i], static_cast<uint32_t>(box * shape.classes + kind));
  }
#endif
};

/// Channels of a box: centre x and y, width, height, with objectness or without, and a score for
/// each class.
template <class E> struct YoloHead {
  const E* data;
  int64_t boxes, classes;
  /// (images, boxes, 5 + classes), as YOLOv5 and v7; else (images, 4 + classes, boxes), as v8 and
  /// v11.
  bool has_objectness;

  TENON_HD int64_t channels() const { return classes + (has_objectness ? 5 : 4); }
  TENON_HD float at(int64_t image, int64_t box, int64_t channel) const {
    const E* const of_image = data + image * boxes * channels();
    return static_cast<float>(has_objectness ? of_image[box * channels() + channel]
                                             : of_image[channel * boxes + box]);
  }
  TENON_HD Box box(int64_t image, int64_t i) const {
    const float x = at(image, i, 0), y = at(image, i, 1);
    const float width = at(image, i, 2) / 2, height = at(image, i, 3) / 2;
    return {x - width, y - height, x + width, y + height};
  }
};

/// Fills BestClasses. Scores that are NaN are none, and of equal ones it is the first class; boxes
/// that are not finite are no candidates.
template <class E> struct FindBestClasses {
  YoloHead<E> head;
  float threshold;
  BestClasses best;

  TENON_HD void operator()(int64_t i) const {
    const int64_t image = i / head.boxes, box = i % head.boxes;
    const float objectness = head.has_objectness ? head.at(image, box, 4) : 1;
    if (head.has_objectness && !(objectness > threshold)) return store(i, -INFINITY, 0);
    float highest = -INFINITY;
    int32_t kind = 0;
    for (int64_t c = 0; c < head.classes; ++c) {
      const float score = head.at(image, box, head.channels() - head.classes + c);
      if (score > highest) {
        highest = score;
        kind = static_cast<int32_t>(c);
      }
    }
    store(i, objectness * highest, kind);
  }

#if !defined(__CUDACC__)
  // Blocks of boxes, a class after the other: they lie side by side.
  void run(const kit::Device& device, int64_t images) const {
    if (head.has_objectness) return device.parallel_for(images * head.boxes, *this);
    constexpr int64_t kBlock = 128;
    const int64_t blocks = (head.boxes + kBlock - 1) / kBlock;
    device.parallel_ranges(images * blocks, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * kBlock;
        find<kBlock>(i / blocks, first, std::min(kBlock, head.boxes - first));
      }
    });
  }

 private:
  template <int64_t size> void find(int64_t image, int64_t first, int64_t count) const {
    float highest[size], values[size];
    int32_t kinds[size];
    std::fill_n(highest, size, -INFINITY);
    std::fill_n(kinds, size, 0);
    std::fill_n(values, size, -INFINITY);
    const E* row = head.data + (image * head.channels() + 4) * head.boxes + first;
    for (int32_t c = 0; c < head.classes; ++c, row += head.boxes) {
      kit::convert(row, values, count);
      for (int64_t j = 0; j < size; ++j) {
        const bool is_better = values[j] > highest[j];
        highest[j] = is_better ? values[j] : highest[j];
        kinds[j] = is_better ? c : kinds[j];
      }
    }
    for (int64_t j = 0; j < count; ++j) store(image * head.boxes + first + j, highest[j], kinds[j]);
  }
#else
  void run(const kit::Device& device, int64_t images) const {
    device.parallel_for(images * head.boxes, *this);
  }

 private:
#endif
  TENON_HD void store(int64_t i, float score, int32_t kind) const {
    if (score > threshold) {
      const Box b = head.box(i / head.boxes, i % head.boxes);
      // The sum is not finite if one of them is not.
      if (!(std::abs(b.x1) + std::abs(b.y1) + std::abs(b.x2) + std::abs(b.y2) < INFINITY))
        score = -INFINITY;
    }
    best.scores[i] = score;
    best.kinds[i] = kind;
  }
};

/// The boxes of a head: as NMS compares them, and mapped back to the picture.
template <class E> struct YoloBoxes {
#if !defined(__CUDACC__)
  using Kept = KeptBoxes;
#endif
  YoloHead<E> head;
  /// (images, 8): a matrix of 2x3 that leads back, and the picture's width and height, to which
  /// boxes are clipped; or null.
  const float* to_image;

  TENON_HD Box operator()(int64_t image, int64_t box, int64_t) const {
    return head.box(image, box);
  }
  TENON_HD Box corners(int64_t image, int64_t box, int64_t) const {
    const Box b = head.box(image, box);
    if (to_image == nullptr) return b;
    const float* const m = to_image + image * 8;
    // The bounds of the four corners: each axis by itself.
    const Span x = span(m[0], b.x1, b.x2) + span(m[1], b.y1, b.y2) + Span{m[2], m[2]};
    const Span y = span(m[3], b.x1, b.x2) + span(m[4], b.y1, b.y2) + Span{m[5], m[5]};
    return {clipped(x.low, m[6]), clipped(y.low, m[7]), clipped(x.high, m[6]),
            clipped(y.high, m[7])};
  }

 private:
  struct Span {
    float low, high;

    TENON_HD friend Span operator+(const Span& a, const Span& b) {
      return {a.low + b.low, a.high + b.high};
    }
  };
  TENON_HD static Span span(float factor, float low, float high) {
    const float a = factor * low, b = factor * high;
    return {a < b ? a : b, a < b ? b : a};
  }
  TENON_HD static float clipped(float at, float extent) {
    const float low = at > 0 ? at : 0;
    return low < extent ? low : extent;
  }
};

}  // namespace tenon::kernels::inline TENON_TARGET
