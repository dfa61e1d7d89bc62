// Matrices between pixels of an image and of a network's input.
#ifndef TENON_SERVE_LETTERBOX_H
#define TENON_SERVE_LETTERBOX_H

#include <array>
#include <cstdint>
#include <span>

#include "tenon/serve/matrix.h"

namespace tenon::serve {

/// An image fitted into a network's input by one scale for both axes, with border around it.
struct Letterbox {
  /// tensorRT_Pro's: centred to fractions of a pixel. Pixels at the edge mix with the border.
  static Result<Letterbox> centred(int64_t image_width, int64_t image_height, int64_t width,
                                   int64_t height) noexcept;

  struct Options {
    bool scales_up = true;   ///< Ultralytics' scaleup: smaller images are enlarged
    bool is_centred = true;  ///< center: else the border is right and below
  };
  /// Ultralytics': cv2.resize to whole pixels, then copyMakeBorder. d2i and i2d are as its
  /// scale_boxes maps: without what rounding to whole pixels does to the scale.
  static Result<Letterbox> ultralytics(int64_t image_width, int64_t image_height, int64_t width,
                                       int64_t height, Options options) noexcept;
  static Result<Letterbox> ultralytics(int64_t image_width, int64_t image_height, int64_t width,
                                       int64_t height) noexcept {
    return ultralytics(image_width, image_height, width, height, Options{});
  }

  int64_t image_width = 0, image_height = 0;  ///< of the image
  int64_t width = 0, height = 0;              ///< of the network's input
  /// For boxes and points: from the image to the network's input, and back.
  Matrix23 i2d{}, d2i{};
  /// Where the resized image is, in pixels of the input; without pixels where `d2i` is sampled.
  int64_t left = 0, top = 0, inner_width = 0, inner_height = 0;
};

using Landmarks5 = std::array<Point, 5>;
/// Eyes, nose and corners of the mouth, left ones first, in ArcFace's 112x112 input.
inline constexpr Landmarks5 kArcFaceLandmarks = {{{38.2946F, 51.6963F},
                                                  {73.5318F, 51.5014F},
                                                  {56.0252F, 71.7366F},
                                                  {41.5493F, 92.3655F},
                                                  {70.7299F, 92.2041F}}};

/// The turn, scale and shift that lead `from` nearest to `to`, by least squares: Umeyama's without
/// mirrors, as skimage's SimilarityTransform. An error when they are not as many, fewer than two,
/// not finite, or all of one side are the same.
Result<Matrix23> similarity(std::span<const Point> from, std::span<const Point> to) noexcept;
/// i2d of a face for ArcFace, its input scaled to size x size pixels.
Result<Matrix23> arcface_matrix(const Landmarks5& landmarks, int64_t size = 112) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_LETTERBOX_H
