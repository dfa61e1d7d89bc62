// What MediaPipe's networks find: BlazeFace and its relatives for palms and persons, and BlazePose.
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

/// BlazePose (Bazarevsky et al., 2020): landmarks (5 count) of x, y, z in pixels of the input and
/// two numbers before the sigmoid, that it can be seen and that it is inside; heat (height, width,
/// count), before the sigmoid, that covers the input. As in MediaPipe, a landmark becomes the mean
/// of the 7 x 7 cells around it, weighted by their heat, where the highest of them is 0.5 or more.
/// @return as many keypoints in the picture, whose score is that it can be seen. An error for other
/// shapes, an input without pixels, or a matrix that is not finite.
Result<std::vector<Keypoint>> decode_blaze_pose(
    const View& landmarks, const View& heat, int64_t input_width, int64_t input_height,
    const Matrix23& to_picture = kIdentityMatrix) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_BLAZE_H
