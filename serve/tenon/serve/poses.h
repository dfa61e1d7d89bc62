// People with keypoints: YOLOv8-pose and v11-pose.
#ifndef TENON_SERVE_POSES_H
#define TENON_SERVE_POSES_H

#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

struct Keypoint {
  float x = 0, y = 0;  ///< in the picture; not clipped to it
  float score = 1;     ///< that it can be seen; 1 where the network does not say
};

struct Pose {
  Box box;
  std::vector<Keypoint> keypoints;
};

/// As Ultralytics exports them: (4 + classes + keypoints * numbers, boxes) as YOLOv8's; of each
/// keypoint x, y in pixels of the input and, with 3 numbers, its score.
/// @return the best first. An error for another shape, or options that mean nothing.
Result<std::vector<Pose>> decode_poses(const View& head, const DetectOptions& options,
                                       int64_t keypoints = 17, int64_t numbers = 3) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_POSES_H
