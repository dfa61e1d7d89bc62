// Boxes from the heads of YOLO networks whose boxes are already decoded.
#ifndef TENON_SERVE_YOLO_H
#define TENON_SERVE_YOLO_H

#include <span>
#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

/// YOLOv3, v5 and v7 with anchors decoded, as Ultralytics' yolov5 and WongKinYiu's yolov7 export
/// them: (boxes, 5 + classes) of centre x and y, width, height in pixels of the input, objectness
/// and classes as probabilities. The score is their product.
/// @return boxes in the picture, the best first; `index` is the row. An error for another shape or
/// options that mean nothing.
Result<std::vector<Box>> decode_yolo_v5(const View& head, const DetectOptions& options) noexcept;

/// YOLOX as Megvii exports it, which leaves the grid to the caller: (cells, 5 + classes) with the
/// levels of `strides` one after the other, each row by row; the centre is (t + cell) * stride and
/// the extents are exp(t) * stride (Ge et al., 2021). The input has width x height pixels.
Result<std::vector<Box>> decode_yolox(const View& head, std::span<const int> strides,
                                      int64_t input_width, int64_t input_height,
                                      const DetectOptions& options) noexcept;

/// YOLOv8 and v11 as Ultralytics exports them: (4 + classes, boxes) of centre x and y, width,
/// height in pixels of the input, and classes as probabilities. `index` is the column.
Result<std::vector<Box>> decode_yolo_v8(const View& head, const DetectOptions& options) noexcept;

/// YOLOv10 and other heads that need no NMS: (boxes, 6) of left, top, right, bottom in pixels of
/// the input, score and class (Wang et al., 2024). Boxes stay in the order of their scores, those
/// of equal scores in their own; `nms.max_boxes` is how many at most. A class that is negative, no
/// integer, or with `classes` set not below it, is an error.
Result<std::vector<Box>> decode_yolo_v10(const View& head, const DetectOptions& options) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_YOLO_H
