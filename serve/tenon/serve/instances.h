// Instances with masks: YOLOv8-seg and v11-seg.
#ifndef TENON_SERVE_INSTANCES_H
#define TENON_SERVE_INSTANCES_H

#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

/// The pixels of the picture that a box touches: `width` x `height` from (left, top) on, in rows.
struct Mask {
  int64_t left = 0, top = 0, width = 0, height = 0;
  std::vector<uint8_t> pixels;  ///< 255 inside of the instance, else 0
};

struct InstanceMask {
  Box box;
  Mask mask;
};

/// As Ultralytics exports them: a head (4 + classes + masks, boxes) as YOLOv8's, of which the last
/// channels are coefficients, and prototypes (masks, height, width) that cover the input of
/// input_width x input_height pixels. A mask is the sum of prototypes by coefficients (YOLACT,
/// Bolya et al., 2019), resized bilinearly to the picture, where it is positive and in the box.
/// `width` and `height` of the options are needed: memory is that of the boxes' pixels, so at most
/// `nms.max_boxes` pictures of a byte a pixel.
/// @return the best first. An error for other shapes, or options that mean nothing.
Result<std::vector<InstanceMask>> decode_instances(const View& head, const View& prototypes,
                                                   int64_t input_width, int64_t input_height,
                                                   const DetectOptions& options) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_INSTANCES_H
