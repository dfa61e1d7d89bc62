// Boxes from what the last convolutions of YOLO networks give, which nothing has decoded yet.
#ifndef TENON_SERVE_RAW_YOLO_H
#define TENON_SERVE_RAW_YOLO_H

#include <array>
#include <span>
#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

/// A level with anchors. All numbers of the head are logits.
struct AnchorLevel {
  View head;  ///< (anchors * (5 + classes), height, width) or (anchors, height, width, 5 + classes)
  int stride;                                 ///< pixels of the input from cell to cell
  std::vector<std::array<float, 2>> anchors;  ///< widths and heights, in pixels of the input
};

/// How offsets t become a box in cell c with stride s and anchor a.
enum class AnchorCoding {
  kV3,  ///< centre (sigmoid(t) + c) s, extents exp(t) a (Redmon and Farhadi, 2018)
  kV5   ///< centre (2 sigmoid(t) - 0.5 + c) s, extents (2 sigmoid(t))^2 a: YOLOv5 and v7
};

/// The score is sigmoid(objectness) sigmoid(class). Scores are compared as logits: a cell below the
/// threshold costs no exponential.
/// @return boxes in the picture, the best first; `index` counts levels, anchors, rows and columns,
/// the last ones fastest, as the heads are concatenated by those networks.
Result<std::vector<Box>> decode_anchors(std::span<const AnchorLevel> levels, AnchorCoding coding,
                                        const DetectOptions& options) noexcept;

/// A level without anchors, of YOLOv8 and v11.
struct DistributionLevel {
  View head;   ///< (4 * bins + classes, height, width)
  int stride;  ///< pixels of the input from cell to cell
};

/// Distribution focal loss (Li et al., 2020): the distance from the middle of a cell to the left,
/// top, right and bottom edge is the mean of 0 to bins - 1, by the softmax of as many channels, in
/// strides. The score is sigmoid(class).
/// @return boxes in the picture, the best first; `index` counts levels, rows and columns.
Result<std::vector<Box>> decode_distributions(std::span<const DistributionLevel> levels,
                                              const DetectOptions& options,
                                              int64_t bins = 16) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_RAW_YOLO_H
