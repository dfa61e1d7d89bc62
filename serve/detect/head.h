// Heads as decoders read them: float32 on the host, with a shape that was checked.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "guard.h"
#include "tenon/serve/detect_options.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

/// Throws "WHO: expected EXPECTED, found FOUND".
[[noreturn]] void fail(std::string_view who, const std::string& expected, const std::string& found);
/// Throws unless it is from 0 to 1; NaN is not.
void require_threshold(std::string_view who, std::string_view what, float threshold);
/// Throws for options that mean nothing.
void require_options(std::string_view who, const DetectOptions& options);
/// Throws unless it is the number of classes that is wanted, or none is.
void require_classes(std::string_view who, int64_t wanted, int64_t found);
/// Throws unless its numbers are finite.
void require_finite(std::string_view who, const Matrix23& to_picture);
/// Throws unless the map can be undone, and no pixel becomes infinite by it or by what leads back.
void require_inverse(std::string_view who, const Matrix23& to_picture);
/// Throws unless the map can be undone and the picture and the input have numbers of pixels that
/// they can have.
void require_picture(std::string_view who, const Matrix23& to_picture, int64_t width,
                     int64_t height, int64_t input_width, int64_t input_height);
/// Throws unless a map's extents are exact as floats, and there is one cell or more.
void require_map(std::string_view who, const View& view, int64_t width, int64_t height);
/// From pixels of the picture to cells of a map of width x height that covers the engine's input.
/// Middles of pixels and cells are at whole numbers.
Matrix23 picture_to_cells(const Matrix23& to_picture, int64_t input_width, int64_t input_height,
                          int64_t width, int64_t height);

/// A view's elements; those of float16 are widened, and then it owns them.
class Floats {
 public:
  explicit Floats(const View& view);
  Floats(Floats&&) = default;
  Floats& operator=(Floats&&) = default;
  Floats(const Floats&) = delete;

  const float* data() const { return data_; }

 private:
  std::vector<float> widened_;
  const float* data_;
};

/// A logit such that no score above `threshold` has one below it, rounding included.
inline float logit_below(float threshold) {
  const double p = threshold;
  const double logit = std::log(p / (1 - p));  // infinite at both ends
  return std::isinf(logit) ? static_cast<float>(logit)
                           : static_cast<float>(logit - 1e-4 * (1 + std::abs(logit)));
}
inline float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace tenon::serve
