// Oriented boxes: YOLOv8-obb and v11-obb.
#ifndef TENON_SERVE_ORIENTED_BOXES_H
#define TENON_SERVE_ORIENTED_BOXES_H

#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

/// As Ultralytics exports them: (4 + classes + 1, boxes) of centre x and y, width, height in pixels
/// of the input, classes as probabilities, and the angle in radians. NMS is by probabilistic IoU,
/// and with `method` kFast it is Ultralytics' own.
/// @return regularized boxes in the picture, not clipped to it, the best first. An error for
/// another shape, or options that mean nothing.
Result<std::vector<RotatedBox>> decode_oriented_boxes(const View& head,
                                                      const DetectOptions& options) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_ORIENTED_BOXES_H
