// Faces with five landmarks: RetinaFace, SCRFD and CenterFace.
#ifndef TENON_SERVE_FACES_H
#define TENON_SERVE_FACES_H

#include <array>
#include <span>
#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/letterbox.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

struct Face {
  Box box;
  /// Left and right eye as one looks at the picture, nose, left and right corner of the mouth; in
  /// the picture, not clipped to it.
  Landmarks5 landmarks;
};

/// Squares that RetinaFace's numbers are relative to: for each cell of a level one of each side.
struct PriorLevel {
  int stride;                ///< pixels of the input from cell to cell
  std::vector<float> sides;  ///< in pixels of the input
};

/// The priors of the networks with MobileNet and ResNet50 of biubug6's Pytorch_Retinaface.
std::vector<PriorLevel> retina_face_priors();

/// RetinaFace (Deng et al., 2019) as Pytorch_Retinaface exports it: boxes (priors, 4), scores
/// (priors, 2) of background and face as probabilities, landmarks (priors, 10). Priors go by level,
/// row, column and side; a level has as many cells as strides begin in the input. Offsets of
/// centres count tenths of a prior, and logarithms of extents fifths, as in SSD (Liu et al., 2016).
/// @return the best first; `index` is the prior. An error for other shapes, or options that mean
/// nothing.
Result<std::vector<Face>> decode_retina_face(const View& boxes, const View& scores,
                                             const View& landmarks, int64_t input_width,
                                             int64_t input_height,
                                             std::span<const PriorLevel> priors,
                                             const DetectOptions& options) noexcept;

/// A level of SCRFD: scores (anchors, 1) or (anchors) as probabilities, boxes (anchors, 4) and
/// landmarks (anchors, 10).
struct ScrfdLevel {
  View scores, boxes, landmarks;
  int stride;  ///< pixels of the input from cell to cell
};

/// SCRFD (Guo et al., 2021) as InsightFace exports it: distances from the upper left corner of a
/// cell to the edges, and to the landmarks, in strides. Each cell of a level has as many anchors as
/// there are rows by cells.
/// @return the best first; `index` counts levels, rows, columns and anchors. An error for other
/// shapes, or options that mean nothing.
Result<std::vector<Face>> decode_scrfd(std::span<const ScrfdLevel> levels, int64_t input_width,
                                       int64_t input_height, const DetectOptions& options) noexcept;

/// CenterFace (Xu et al., 2019): heat (1, height, width) as probabilities, logarithms of extents
/// (2, height, width) and offsets of centres (2, height, width) in cells of `stride` pixels of the
/// input, y before x, and landmarks (10, height, width), each y before x, from the upper left
/// corner of the box in parts of its extents.
/// @return the best first; `index` is the cell, row by row. An error for other shapes, or options
/// that mean nothing.
Result<std::vector<Face>> decode_center_face(const View& heat, const View& extents,
                                             const View& offsets, const View& landmarks,
                                             const DetectOptions& options, int stride = 4) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_FACES_H
