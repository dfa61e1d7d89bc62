// Non-maximum suppression: of boxes that overlap, the one with the best score stays.
#ifndef TENON_SERVE_NMS_H
#define TENON_SERVE_NMS_H

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/serve/box.h"
#include "tenon/session/result.h"

namespace tenon::serve {

/// Which boxes suppress others.
enum class NmsMethod {
  kGreedy,  ///< those that stay, as in torchvision.ops.nms
  kFast,    ///< dropped ones too: Fast NMS of YOLACT (Bolya et al., 2019), and tensorRT_Pro's
};

/// How much two rotated boxes overlap.
enum class RotatedOverlap {
  kIou,              ///< what they share by what they cover together
  kProbabilisticIou  ///< 1 less the Hellinger distance of two Gaussians (Llerena et al., 2021)
};

struct NmsOptions {
  float iou_threshold = 0.45F;     ///< boxes that overlap by more are suppressed; from 0 to 1
  bool class_agnostic = false;     ///< boxes of one class suppress those of others
  int64_t max_candidates = 30000;  ///< so many of the best are looked at; 1 or more
  int64_t max_boxes = 300;         ///< so many of the best stay; 0 or more
  NmsMethod method = NmsMethod::kGreedy;
};

/// Indices of the boxes that stay, the best first; of equal scores the lower index is the better
/// one. Exact: the candidates are all compared, and classes are apart without an offset. Boxes
/// whose score is NaN are dropped. Those with a NaN, an infinite extent or no inside overlap
/// nothing. An error for options outside of what they say.
session::Result<std::vector<int64_t>> nms(std::span<const Box> boxes,
                                          const NmsOptions& options) noexcept;

/// The same of rotated boxes. Ultralytics' is `kFast` by probabilistic IoU.
session::Result<std::vector<int64_t>> rotated_nms(
    std::span<const RotatedBox> boxes, const NmsOptions& options,
    RotatedOverlap overlap = RotatedOverlap::kIou) noexcept;

/// The probabilistic IoU of two boxes, from 0 to 1; 0 for boxes that overlap nothing.
float probabilistic_iou(const RotatedBox& a, const RotatedBox& b);

}  // namespace tenon::serve

#endif  // TENON_SERVE_NMS_H
