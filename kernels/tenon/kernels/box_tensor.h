/// The boxes and scores of detectors, in the shapes and codings that they come in.
#pragma once

#include <tenon/plugin/require.h>

#include <cmath>
#include <stdexcept>

#include "tenon/kernels/nms.h"

namespace tenon::kernels::inline TENON_TARGET {

/// The sizes of boxes and scores that belong together.
struct DetectionShape {
  NmsShape scores;
  int64_t box_classes;  // one serves all

  /// For results with an axis of images. Throws unless the scores have one.
  static void require_images(size_t score_axes) {
    if (score_axes < 3)
      throw std::invalid_argument("scores must have shape (images, boxes, classes), found "
                                  + std::to_string(score_axes) + " dimensions");
  }
  /// Boxes (N, boxes, 4) or (N, boxes, classes or 1, 4), of `numbers` instead of 4; scores
  /// (N, boxes, classes), which may have a last axis of 1, or with `classes_first` (N, classes,
  /// boxes). Without axis N when scores have two axes. Throws std::invalid_argument.
  static DetectionShape of(const kit::Shape& boxes, const kit::Shape& scores,
                           bool classes_first = false, int64_t numbers = 4) {
    const auto require = [&](bool holds, const std::string& expected) {
      if (!holds)
        throw std::invalid_argument("boxes " + text_of(boxes) + " and scores " + text_of(scores)
                                    + " do not fit; expected " + expected);
    };
    const int axes = scores.rank() == 4 && scores[3] == 1 ? 3 : scores.rank();
    require(axes == 2 || axes == 3, classes_first ? "scores of shape (images, classes, boxes)"
                                                  : "scores of shape (images, boxes, classes)");
    const int first = axes - 2, rank = boxes.rank();
    DetectionShape shape{{first == 0 ? 1 : scores[0], scores[first + (classes_first ? 1 : 0)],
                          scores[first + (classes_first ? 0 : 1)], classes_first},
                         1};
    require(classes_first || shape.scores.classes > 0, "at least one class");
    require((rank == first + 2 || rank == first + 3) && boxes[rank - 1] == numbers,
            "boxes of shape (images, boxes, " + std::to_string(numbers)
                + "), or (images, boxes, classes or 1, " + std::to_string(numbers) + ")");
    require(first == 0 || boxes[0] == shape.scores.images, "as many images");
    require(boxes[first] == shape.scores.boxes, "as many boxes");
    if (rank == first + 3) shape.box_classes = boxes[first + 1];
    require(shape.box_classes == 1 || shape.box_classes == shape.scores.classes,
            "as many classes, or one that serves all");
    return shape;
  }
};

enum class BoxCoding {
  kCorners,          // x1 <= x2 and y1 <= y2, else a box is empty
  kOppositeCorners,  // any two opposite corners
  kCenterSize,       // centre, then width and height
};

/// Boxes of (images, boxes, classes or 1, 4). Which of the two axes comes first does not matter.
template <class E> struct BoxTensor {
#if !defined(__CUDACC__)
  using Kept = KeptBoxes;
#endif

  const E* boxes;
  int64_t count, classes;  // of an image; one class serves all
  BoxCoding coding = BoxCoding::kCorners;
  float offset = 0;  // a box ends so far behind its second corner: 1 for whole pixels
  /// Boxes are relative to these, (images or 1, boxes, 4) in the same coding, when they are there:
  /// corners are added; centres are moved by multiples of the size, which grows by e to the power
  /// of theirs.
  const E* anchors = nullptr;
  int64_t anchor_images = 1;

  /// As it is: four numbers, whatever they mean.
  TENON_HD const E* stored(int64_t image, int64_t box, int64_t kind) const {
    return boxes + ((image * count + box) * classes + (classes == 1 ? 0 : kind)) * 4;
  }
  /// Its corners, decoded, in the order in which they are stored.
  TENON_HD Box corners(int64_t image, int64_t box, int64_t kind) const {
    Box b = read(stored(image, box, kind));
    if (anchors != nullptr)
      b = decoded(b, read(anchors + ((anchor_images == 1 ? 0 : image * count) + box) * 4));
    if (coding != BoxCoding::kCenterSize) return b;
    return {b.x1 - b.x2 / 2, b.y1 - b.y2 / 2, b.x1 + b.x2 / 2, b.y1 + b.y2 / 2};
  }
  /// What it covers.
  TENON_HD Box operator()(int64_t image, int64_t box, int64_t kind) const {
    Box b = corners(image, box, kind);
    if (coding == BoxCoding::kOppositeCorners) b = sorted(b);
    return {b.x1, b.y1, b.x2 + offset, b.y2 + offset};
  }

 private:
  TENON_HD static Box read(const E* at) {
    return {static_cast<float>(at[0]), static_cast<float>(at[1]), static_cast<float>(at[2]),
            static_cast<float>(at[3])};
  }
  TENON_HD static Box sorted(const Box& b) {
    return {std::min(b.x1, b.x2), std::min(b.y1, b.y2), std::max(b.x1, b.x2), std::max(b.y1, b.y2)};
  }
  TENON_HD Box decoded(const Box& b, const Box& anchor) const {
    if (coding == BoxCoding::kCenterSize)
      return {b.x1 * anchor.x2 + anchor.x1, b.y1 * anchor.y2 + anchor.y1, anchor.x2 * expf(b.x2),
              anchor.y2 * expf(b.y2)};
    const Box from = sorted(b), to = sorted(anchor);
    return {from.x1 + to.x1, from.y1 + to.y1, from.x2 + to.x2, from.y2 + to.y2};
  }
};

}  // namespace tenon::kernels::inline TENON_TARGET
