// Affine and projective maps of pixels.
#ifndef TENON_SERVE_MATRIX_H
#define TENON_SERVE_MATRIX_H

#include <tenon/session/result.h>

#include <array>

namespace tenon::serve {

using session::Error;
using session::Result;

struct Point {
  float x = 0, y = 0;
};

/// (x, y) becomes (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]). Integers are centres of pixels,
/// as for OpenCV. By tensorRT_Pro's names, i2d leads from the image to the network's input and d2i
/// back.
using Matrix23 = std::array<float, 6>;
/// Rows of a matrix for (x, y, 1); the result is divided by its last element.
using Matrix33 = std::array<float, 9>;

inline constexpr Matrix23 kIdentityMatrix = {1, 0, 0, 0, 1, 0};

/// What leads back; an error when nothing does, or an element is not finite.
Result<Matrix23> inverted(const Matrix23& matrix) noexcept;
Result<Matrix33> inverted(const Matrix33& matrix) noexcept;

Point mapped(const Matrix23& matrix, Point point);

}  // namespace tenon::serve

#endif  // TENON_SERVE_MATRIX_H
