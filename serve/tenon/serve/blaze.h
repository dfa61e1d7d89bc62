// What MediaPipe's detectors find: BlazeFace and its relatives for palms and persons.
#ifndef TENON_SERVE_BLAZE_H
#define TENON_SERVE_BLAZE_H

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/poses.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

/// Anchors of a level: so many in the middle of each cell. Cells go row by row.
struct BlazeLevel {
  int stride;       ///< pixels of the input from cell to cell
  int64_t anchors;  ///< of a cell
};

/// The levels of face_detection_short_range (128 x 128), and of pose_detection (224 x 224).
std::vector<BlazeLevel> blaze_face_levels();
std::vector<BlazeLevel> blaze_pose_levels();

/// BlazeFace (Bazarevsky et al., 2019): boxes (anchors, 4 + 2 keypoints) of centre, width, height
/// and points in pixels of the input, centre and points from the middle of the anchor's cell;
/// scores (anchors, 1) or (anchors) before the sigmoid. A level has as many cells as strides begin
/// in the input. NMS is MediaPipe's: each box that stays, and its points, is the mean of those that
/// it suppresses and itself, weighted by their scores; `method` and `class_agnostic` change
/// nothing.
/// @return the best first, with the points' scores 1; `index` is the anchor. An error for other
/// shapes, or options that mean nothing.
Result<std::vector<Pose>> decode_blaze(const View& boxes, const View& scores, int64_t input_width,
                                       int64_t input_height, std::span<const BlazeLevel> levels,
                                       const DetectOptions& options) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_BLAZE_H
