#include "tenon/serve/letterbox.h"

#include <tenon/kernels/fitting.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "guard.h"
#include "image_view.h"

namespace tenon::serve {
namespace {

using session::guard;
using session::value_of;

template <size_t n> std::string matrix_text(const std::array<float, n>& matrix) {
  std::string text = "[";
  for (size_t i = 0; i < n; ++i)
    text += (i == 0 ? "" : i % 3 == 0 ? "; " : ", ") + std::to_string(matrix[i]);
  return text + "]";
}

// Beside the products it is the difference of: what rounding leaves of two that are equal is none.
template <size_t n>
void check_determinant(double determinant, double products, const std::array<float, n>& matrix) {
  if (!(std::abs(determinant) > 1e-12 * products) || !std::isfinite(products))
    throw Error{
        "the matrix " + matrix_text(matrix)
        + " has no inverse: expected finite elements and a determinant that is not 0, found "
        + std::to_string(determinant)};
}

template <size_t n> std::array<float, n> floats(const std::array<double, n>& values) {
  std::array<float, n> result;
  std::transform(values.begin(), values.end(), result.begin(),
                 [](double value) { return static_cast<float>(value); });
  return result;
}

// x and y are scaled alike and then shifted.
Matrix23 scaled(double scale, double left, double top) {
  return floats<6>({scale, 0, left, 0, scale, top});
}

Letterbox letterbox_of(int64_t image_width, int64_t image_height, int64_t width, int64_t height) {
  check_extents("the image", image_width, image_height);
  check_extents("the network's input", width, height);
  Letterbox box;
  box.image_width = image_width;
  box.image_height = image_height;
  box.width = width;
  box.height = height;
  return box;
}

kernels::Extent2 image_of(const Letterbox& box) {
  return {box.image_width, box.image_height};
}

void set(Letterbox& box, const kernels::Fitting& fitting) {
  box.left = fitting.inner_left;
  box.top = fitting.inner_top;
  box.inner_width = fitting.inner_width;
  box.inner_height = fitting.inner_height;
  const double scale = fitting.x_scale;
  box.i2d = scaled(scale, fitting.left, fitting.top);
  box.d2i = scaled(1 / scale, -fitting.left / scale, -fitting.top / scale);
}

}  // namespace

Result<Matrix23> inverted(const Matrix23& matrix) noexcept {
  return guard([&] {
    const std::array<double, 6> m = {matrix[0], matrix[1], matrix[2],
                                     matrix[3], matrix[4], matrix[5]};
    const double determinant = m[0] * m[4] - m[1] * m[3];
    check_determinant(determinant,
                      std::abs(m[0] * m[4]) + std::abs(m[1] * m[3]) + 0 * (m[2] + m[5]), matrix);
    const double a = m[4] / determinant, b = -m[1] / determinant;
    const double c = -m[3] / determinant, d = m[0] / determinant;
    return floats<6>({a, b, -(a * m[2] + b * m[5]), c, d, -(c * m[2] + d * m[5])});
  });
}

Result<Matrix33> inverted(const Matrix33& matrix) noexcept {
  return guard([&] {
    std::array<double, 9> m;
    std::copy(matrix.begin(), matrix.end(), m.begin());
    std::array<double, 9> adjugate;
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 3; ++j) {
        const size_t r = (j + 1) % 3 * 3, s = (j + 2) % 3 * 3, c = (i + 1) % 3, d = (i + 2) % 3;
        adjugate[3 * i + j] = m[r + c] * m[s + d] - m[r + d] * m[s + c];
      }
    double determinant = 0, products = 0;
    for (size_t i = 0; i < 3; ++i) {
      const size_t c = (i + 1) % 3, d = (i + 2) % 3;
      determinant += m[i] * adjugate[3 * i];
      products += std::abs(m[i]) * (std::abs(m[3 + c] * m[6 + d]) + std::abs(m[3 + d] * m[6 + c]));
    }
    check_determinant(determinant, products, matrix);
    for (double& element : adjugate) element /= determinant;
    return floats(adjugate);
  });
}

Result<Letterbox> Letterbox::centred(int64_t image_width, int64_t image_height, int64_t width,
                                     int64_t height) noexcept {
  return guard([&] {
    Letterbox box = letterbox_of(image_width, image_height, width, height);
    set(box, kernels::centred(image_of(box), {width, height}));
    return box;
  });
}

Result<Letterbox> Letterbox::ultralytics(int64_t image_width, int64_t image_height, int64_t width,
                                         int64_t height, Options options) noexcept {
  return guard([&] {
    Letterbox box = letterbox_of(image_width, image_height, width, height);
    set(box, kernels::letterboxed(image_of(box), {width, height}, options.scales_up,
                                  options.is_centred));
    return box;
  });
}

Result<Matrix23> similarity(std::span<const float> from, std::span<const float> to) noexcept {
  return guard([&] {
    if (from.size() != to.size() || from.size() < 4 || from.size() % 2 != 0)
      throw Error{"a similarity is between x, y of two points or more: found "
                  + std::to_string(from.size()) + " and " + std::to_string(to.size()) + " numbers"};
    const auto count = static_cast<double>(from.size() / 2);
    double x = 0, y = 0, u = 0, v = 0;
    for (size_t i = 0; i < from.size(); i += 2) {
      x += from[i] / count;
      y += from[i + 1] / count;
      u += to[i] / count;
      v += to[i + 1] / count;
    }
    // As a complex number, the scaled turn is the sum of conj(from) * to by that of |from|^2.
    double real = 0, imaginary = 0, squares = 0;
    for (size_t i = 0; i < from.size(); i += 2) {
      const double a = from[i] - x, b = from[i + 1] - y, c = to[i] - u, d = to[i + 1] - v;
      real += a * c + b * d;
      imaginary += a * d - b * c;
      squares += a * a + b * b;
    }
    if (!std::isfinite(real + imaginary + squares))
      throw Error{"points of a similarity are not finite"};
    if (squares == 0 || (real == 0 && imaginary == 0))
      throw Error{"points of a similarity are all the same, or turned against each other"};
    real /= squares;
    imaginary /= squares;
    return floats<6>({real, -imaginary, u - real * x + imaginary * y, imaginary, real,
                      v - imaginary * x - real * y});
  });
}

Result<Matrix23> arcface_matrix(const Landmarks5& landmarks, int64_t size) noexcept {
  return guard([&] {
    check_extents("the network's input", size, size);
    Landmarks5 to = kArcFaceLandmarks;
    for (float& coordinate : to) coordinate *= static_cast<float>(size) / 112;
    return value_of(similarity(landmarks, to));
  });
}

}  // namespace tenon::serve
