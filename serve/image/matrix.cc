#include "tenon/serve/matrix.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "guard.h"
#include "matrix_floats.h"

namespace tenon::serve {
namespace {

using session::guard;

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

Point mapped(const Matrix23& m, Point p) {
  return {m[0] * p.x + m[1] * p.y + m[2], m[3] * p.x + m[4] * p.y + m[5]};
}

}  // namespace tenon::serve
