// Affine and projective maps of pixels.
#ifndef TENON_SERVE_MATRIX_H
#define TENON_SERVE_MATRIX_H

#include <array>

namespace tenon::serve {

/// (x, y) becomes (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]). Integers are centres of pixels,
/// as for OpenCV. By tensorRT_Pro's names, i2d leads from the image to the network's input and d2i
/// back.
using Matrix23 = std::array<float, 6>;
/// Rows of a matrix for (x, y, 1); the result is divided by its last element.
using Matrix33 = std::array<float, 9>;

}  // namespace tenon::serve

#endif  // TENON_SERVE_MATRIX_H
