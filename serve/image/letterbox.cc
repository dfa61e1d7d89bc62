#include "tenon/serve/letterbox.h"

#include <tenon/kernels/fitting.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "guard.h"
#include "image_view.h"
#include "matrix_floats.h"

namespace tenon::serve {
namespace {

using session::guard;
using session::value_of;

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

Result<Matrix23> similarity(std::span<const Point> from, std::span<const Point> to) noexcept {
  return guard([&] {
    if (from.size() != to.size() || from.size() < 2)
      throw Error{"a similarity is between two points or more: found " + std::to_string(from.size())
                  + " and " + std::to_string(to.size())};
    const auto count = static_cast<double>(from.size());
    double x = 0, y = 0, u = 0, v = 0;
    for (size_t i = 0; i < from.size(); ++i) {
      x += from[i].x / count;
      y += from[i].y / count;
      u += to[i].x / count;
      v += to[i].y / count;
    }
    // As a complex number, the scaled turn is the sum of conj(from) * to by that of |from|^2.
    double real = 0, imaginary = 0, squares = 0;
    for (size_t i = 0; i < from.size(); ++i) {
      const double a = from[i].x - x, b = from[i].y - y, c = to[i].x - u, d = to[i].y - v;
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
    for (Point& point : to) {
      point.x *= static_cast<float>(size) / 112;
      point.y *= static_cast<float>(size) / 112;
    }
    return value_of(similarity(landmarks, to));
  });
}

}  // namespace tenon::serve
