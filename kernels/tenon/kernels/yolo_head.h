/// Heads of YOLO networks whose boxes are decoded: a box is a candidate of its best class.
#pragma once

#include <cmath>

#include "tenon/kernels/gaussian_boxes.h"
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

/// What the channels of a box are, and behind them `others` more: keypoints, coefficients of
/// masks, or an angle.
enum class YoloFormat {
  kV8,  ///< (images, 4 + classes + others, boxes), as v8 and v11: centre x and y, width, height
  kV5,  ///< (images, boxes, 5 + classes + others), as v5 and v7: with objectness before classes
  kV10  ///< (images, boxes, 6 + others), as v10: left, top, right, bottom, score, class
};

template <class E> struct YoloHead {
  const E* data;
  int64_t boxes, classes, others;  ///< classes of kV10 are one
  YoloFormat format;

  TENON_HD int64_t first_class() const { return format == YoloFormat::kV5 ? 5 : 4; }
  TENON_HD int64_t channels() const {
    return others + (format == YoloFormat::kV10 ? 6 : first_class() + classes);
  }
  TENON_HD float at(int64_t image, int64_t box, int64_t channel) const {
    const E* const of_image = data + image * boxes * channels();
    return static_cast<float>(format == YoloFormat::kV8 ? of_image[channel * boxes + box]
                                                        : of_image[box * channels() + channel]);
  }
  TENON_HD float other(int64_t image, int64_t box, int64_t i) const {
    return at(image, box, channels() - others + i);
  }
  TENON_HD Box box(int64_t image, int64_t i) const {
    const float a = at(image, i, 0), b = at(image, i, 1), c = at(image, i, 2), d = at(image, i, 3);
    if (format == YoloFormat::kV10) return {a, b, c, d};
    return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
  }
  /// The class of kV10 is a number of its own; that of others is the best.
  TENON_HD int32_t class_of(int64_t image, int64_t box, int64_t best) const {
    return format == YoloFormat::kV10 ? static_cast<int32_t>(at(image, box, 5))
                                      : static_cast<int32_t>(best);
  }
};

/// Fills BestClasses. Scores that are NaN are none, and of equal ones it is the first class; boxes
/// that are not finite, or rotated by what is not, are no candidates.
template <class E> struct FindBestClasses {
  YoloHead<E> head;
  float threshold;
  bool is_oriented;  ///< the last channel is an angle
  BestClasses best;

  TENON_HD void operator()(int64_t i) const {
    const int64_t image = i / head.boxes, box = i % head.boxes;
    if (head.format == YoloFormat::kV10) {
      const float kind = head.at(image, box, 5);
      const bool is_class = kind >= 0 && kind < 0x1p31f && kind == floorf(kind);
      return store(i, is_class ? head.at(image, box, 4) : -INFINITY, 0);
    }
    const bool has_objectness = head.format == YoloFormat::kV5;
    const float objectness = has_objectness ? head.at(image, box, 4) : 1;
    if (has_objectness && !(objectness > threshold)) return store(i, -INFINITY, 0);
    float highest = -INFINITY;
    int32_t kind = 0;
    for (int64_t c = 0; c < head.classes; ++c) {
      const float score = head.at(image, box, head.first_class() + c);
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
    if (head.format != YoloFormat::kV8) return device.parallel_for(images * head.boxes, *this);
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
      const int64_t image = i / head.boxes, box = i % head.boxes;
      const Box b = head.box(image, box);
      const float angle = is_oriented ? head.other(image, box, head.others - 1) : 0;
      // The sum is not finite if one of them is not.
      if (!(std::abs(b.x1) + std::abs(b.y1) + std::abs(b.x2) + std::abs(b.y2) + std::abs(angle)
            < INFINITY))
        score = -INFINITY;
    }
    best.scores[i] = score;
    best.kinds[i] = kind;
  }
};

/// From pixels of the network's input to those of the picture.
struct ToImage {
  /// A matrix of 2x3, and the picture's width and height, to which boxes are clipped; null where
  /// pixels stay those of the input.
  const float* m;

  TENON_HD float x(float at_x, float at_y) const {
    return m == nullptr ? at_x : m[0] * at_x + m[1] * at_y + m[2];
  }
  TENON_HD float y(float at_x, float at_y) const {
    return m == nullptr ? at_y : m[3] * at_x + m[4] * at_y + m[5];
  }
  /// The bounds of the four corners: each axis by itself.
  TENON_HD Box bounds(const Box& b) const {
    if (m == nullptr) return b;
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

/// The boxes of a head: as NMS compares them, and as they are written.
template <class E> struct YoloBoxes {
#if !defined(__CUDACC__)
  using Kept = KeptBoxes;
#endif
  static constexpr int64_t kNumbers = 4;
  YoloHead<E> head;

  TENON_HD Box operator()(int64_t image, int64_t box, int64_t) const {
    return head.box(image, box);
  }
  /// Left, top, right and bottom.
  TENON_HD void write(int64_t image, int64_t box, const ToImage& to, float* numbers) const {
    const Box b = to.bounds(head.box(image, box));
    numbers[0] = b.x1;
    numbers[1] = b.y1;
    numbers[2] = b.x2;
    numbers[3] = b.y2;
  }
};

/// The same of boxes that are rotated by an angle in radians, their last channel.
template <class E> struct OrientedYoloBoxes {
#if !defined(__CUDACC__)
  using Kept = KeptGaussianBoxes;
#endif
  static constexpr int64_t kNumbers = 5;
  YoloHead<E> head;

  TENON_HD GaussianBox operator()(int64_t image, int64_t box, int64_t) const {
    return GaussianBox::of(head.at(image, box, 0), head.at(image, box, 1), head.at(image, box, 2),
                           head.at(image, box, 3), angle(image, box));
  }
  /// Centre x and y, width, height and angle, from 0 to below a right angle: sides are exchanged
  /// where it is in the second or fourth quarter, as Ultralytics' regularize_rboxes does. The
  /// lengths of the sides and the direction of the width are mapped.
  TENON_HD void write(int64_t image, int64_t box, const ToImage& to, float* numbers) const {
    const float x = head.at(image, box, 0), y = head.at(image, box, 1);
    float width = head.at(image, box, 2), height = head.at(image, box, 3);
    float direction = angle(image, box);
    if (to.m != nullptr) {
      const float *const m = to.m, cosine = cosf(direction), sine = sinf(direction);
      const float along_x = m[0] * cosine + m[1] * sine, along_y = m[3] * cosine + m[4] * sine;
      width *= sqrtf(along_x * along_x + along_y * along_y);
      const float across_x = m[1] * cosine - m[0] * sine, across_y = m[4] * cosine - m[3] * sine;
      height *= sqrtf(across_x * across_x + across_y * across_y);
      direction = atan2f(along_y, along_x);
    }
    constexpr float kQuarter = 1.57079632679489662f;
    const float quarters = floorf(direction / kQuarter), rest = direction - quarters * kQuarter;
    const bool swaps = fmodf(quarters, 2) != 0;
    numbers[0] = to.x(x, y);
    numbers[1] = to.y(x, y);
    numbers[2] = swaps ? height : width;
    numbers[3] = swaps ? width : height;
    numbers[4] = rest > 0 ? rest < kQuarter ? rest : nextafterf(kQuarter, 0) : 0;
  }

 private:
  TENON_HD float angle(int64_t image, int64_t box) const {
    return head.other(image, box, head.others - 1);
  }
};

/// Where detections go: how many (N, 1), and for each row its box (N, rows, 4 or 5), score and
/// class (N, rows), and what else there is of it (N, rows, others), if it is asked for.
struct YoloTensors {
  int32_t* counts;
  float *boxes, *scores;
  int32_t* classes;
  float* others;  ///< or null
  /// Numbers of a keypoint, of which the first two are a point; 0 where `others` are passed
  /// through.
  int64_t point_numbers;
};

/// For WriteBest. Rows that are left are 0, and their class is -1.
template <class E, class Boxes> struct YoloRows {
  YoloTensors to;
  KeptLists lists;
  int64_t rows;
  Boxes from;
  const float* to_image;  ///< (N, 8) of ToImage, or null

  TENON_HD void counted(int64_t image, int64_t count) const {
    to.counts[image] = static_cast<int32_t>(count);
  }
  TENON_HD void found(int64_t image, int64_t row, ScoreKey key) const {
    const int64_t box = lists.box_of(key), at = image * rows + row;
    const ToImage map{to_image == nullptr ? nullptr : to_image + image * 8};
    from.write(image, box, map, to.boxes + at * Boxes::kNumbers);
    to.scores[at] = key.score();
    to.classes[at] = from.head.class_of(image, box, lists.class_of(key));
    if (to.others == nullptr) return;
    const YoloHead<E>& head = from.head;
    float* const others = to.others + at * head.others;
    for (int64_t i = 0; i < head.others; ++i) {
      const int64_t number = to.point_numbers == 0 ? 2 : i % to.point_numbers;
      const float value = head.other(image, box, i);
      others[i] = number == 0   ? map.x(value, head.other(image, box, i + 1))
                  : number == 1 ? map.y(head.other(image, box, i - 1), value)
                                : value;
    }
  }
  TENON_HD void missing(int64_t image, int64_t row) const {
    const int64_t at = image * rows + row;
    for (int64_t i = 0; i < Boxes::kNumbers; ++i) to.boxes[at * Boxes::kNumbers + i] = 0;
    to.scores[at] = 0;
    to.classes[at] = -1;
    if (to.others == nullptr) return;
    for (int64_t i = 0; i < from.head.others; ++i) to.others[at * from.head.others + i] = 0;
  }
};

}  // namespace tenon::kernels::inline TENON_TARGET
