// What each pixel shows: the scores of semantic segmentation to a map of classes.
#ifndef TENON_SERVE_SEGMENTATION_H
#define TENON_SERVE_SEGMENTATION_H

#include <cstdint>
#include <vector>

#include "tenon/serve/box.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

/// How scores between the cells of the network's map are found.
enum class ScoreResize {
  kNearest,  ///< the class of the nearest cell: the map of classes is resized
  kBilinear  ///< the class of the interpolated scores: the scores are resized, then the best is
             ///< found
};

struct SegmentationOptions {
  int64_t input_width = 0, input_height = 0;  ///< of the engine, which the scores cover
  int64_t width = 0, height = 0;              ///< of the picture
  Matrix23 to_picture = kIdentityMatrix;      ///< from pixels of the engine's input
  ScoreResize resize = ScoreResize::kNearest;
  int64_t classes = 0;         ///< that there must be; 0 for any number
  bool channels_last = false;  ///< the scores are (height, width, classes)
};

/// A class for each pixel of the picture, in rows.
struct ClassMap {
  static constexpr uint16_t kNone = 65535;  ///< where all scores are NaN
  int64_t width = 0, height = 0;
  std::vector<uint16_t> labels;
};

/// The best class of each pixel, of equal scores the lowest one. Pixels whose middle lies outside
/// of the input have the class at its edge.
/// @param scores (classes, height, width), of any scale: two classes or more.
/// An error for another shape, or options that mean nothing. Memory is two bytes for each pixel of
/// the picture and of the scores.
Result<ClassMap> decode_segmentation(const View& scores,
                                     const SegmentationOptions& options) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_SEGMENTATION_H
