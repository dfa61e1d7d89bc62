// What decoders of detectors' heads have in common.
#ifndef TENON_SERVE_DETECT_OPTIONS_H
#define TENON_SERVE_DETECT_OPTIONS_H

#include <cstdint>

#include "tenon/serve/box.h"
#include "tenon/serve/nms.h"

namespace tenon::serve {

/// Of all decoders: candidates whose score is not above the threshold or NaN, and those with a
/// coordinate that is NaN or infinite, are dropped. A head's items are independent; the functions
/// keep nothing between calls, and may be called by several threads at a time.
struct DetectOptions {
  float score_threshold = 0.25F;  ///< from 0 to 1
  NmsOptions nms = {};
  Matrix23 to_picture = kIdentityMatrix;  ///< from pixels of the engine's input
  int64_t width = 0, height = 0;  ///< of the picture, which boxes are clipped to; 0 for no clipping
  int64_t classes = 0;            ///< that the head must have; 0 for any number
  bool multi_label = false;       ///< a box for each class above the threshold, not the best alone
  bool boxes_first = false;  ///< heads of YOLOv8 are (boxes, channels), as tensorRT_Pro's exports
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_DETECT_OPTIONS_H
