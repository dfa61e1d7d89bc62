/// Images resized or warped, normalised and laid out for a network, in one pass. Semantics:
/// OpenCV's resize, warpAffine and warpPerspective with INTER_LINEAR: integer positions are the
/// centres of pixels, and outside of the image is a constant border.
#pragma once

#include <cmath>

#include "tenon/kernels/image_pixels.h"
#include "tenon/kernels/image_target.h"
#include "tenon/plugin/device.h"

namespace tenon::kernels::inline TENON_TARGET {

/// The pixels at `low` and `low + 1`, the second with this weight and the first with the rest.
struct AxisSample {
  int32_t low;
  float weight;
};

/// Far outside, and where it is not a number, neither pixel is within [begin, end).
TENON_HD inline AxisSample sample_at(double position, int32_t begin, int32_t end) {
  const auto p = static_cast<float>(position);
  const auto first = static_cast<float>(begin - 2), last = static_cast<float>(end);
  const float after = p > first ? p : first;
  const float near = after < last ? after : last;
  const auto whole = static_cast<int32_t>(near);
  const int32_t low = whole - (near < static_cast<float>(whole) ? 1 : 0);
  return {low, near - static_cast<float>(low)};
}

/// One axis of a resize: target pixel i, from `first` on and before `last`, is at scale * i + shift
/// of the image, whose pixels from `begin` on and before `end` are read. Others are border.
struct SampleAxis {
  double scale, shift;
  int32_t first, last, begin, end;
  bool repeats;  ///< the outermost pixels; else there is border around them

  TENON_HD AxisSample at(int32_t i) const {
    const double position = scale * i + shift;
    const double low = repeats && position < begin ? begin : position;
    const double inside = repeats && low > end - 1 ? end - 1 : low;
    const AxisSample sample = sample_at(inside, begin, end);
    const bool is_border = i < first || i >= last;
    return {is_border ? begin - 2 : sample.low, is_border ? 0 : sample.weight};
  }
};

/// What fills one item of a batch.
struct ImageSampling {
  ImageView image;
  ImageTarget to;
  uint8_t border;
  /// Rows and columns are sampled apart, or at (x, y, 1) times the matrix, which is divided by its
  /// last element if `is_perspective`.
  bool is_separable, is_perspective;
  SampleAxis columns, rows;
  double matrix[9];
};

/// Images of one shape, one behind the other. Item i reads `image_step` bytes behind item i - 1,
/// and fills what is `target_step` elements behind.
struct ImageBatch {
  ImageSampling first;
  int64_t image_step, target_step;

  TENON_HD ImageView image(int64_t item) const {
    ImageView view = first.image;
    for (const uint8_t*& plane : view.plane)
      if (plane != nullptr) plane += item * image_step;
    return view;
  }
};

/// One pixel of the target: what runs for each on CUDA, and the CPU's reference.
struct SamplePixel {
  ImageBatch batch;

  TENON_HD void operator()(int64_t i) const {
    const ImageSampling& s = batch.first;
    const int64_t pixels = int64_t{s.to.width} * s.to.height, item = i / pixels;
    const int64_t pixel = i - item * pixels, row = pixel / s.to.width;  // there may be 2^48
    const auto x = static_cast<int32_t>(pixel - row * s.to.width), y = static_cast<int32_t>(row);
    const ImageView image = batch.image(item);
    AxisSample across, down;
    int32_t left = 0, right = s.image.width, top = 0, bottom = s.image.height;
    if (s.is_separable) {
      left = s.columns.begin, right = s.columns.end, top = s.rows.begin, bottom = s.rows.end;
      across = s.columns.at(x);
      down = s.rows.at(y);
    } else {
      const double* m = s.matrix;
      const double w = s.is_perspective ? 1 / (m[6] * x + m[7] * y + m[8]) : 1;
      across = sample_at((m[0] * x + m[1] * y + m[2]) * w, left, right);
      down = sample_at((m[3] * x + m[4] * y + m[5]) * w, top, bottom);
    }
    float color[4][4];
    for (int k = 0; k < 4; ++k) {
      const int32_t column = across.low + k % 2, line = down.low + k / 2;
      const bool is_inside = column >= left && column < right && line >= top && line < bottom;
      unpack(is_inside ? load(image, column, line) : border_pixel(image.layout, s.border),
             color[k]);
    }
    for (int32_t c = 0; c < s.to.channels; ++c) {
      const int32_t from = s.to.from[c];
      const float above = color[0][from] + across.weight * (color[1][from] - color[0][from]);
      const float below = color[2][from] + across.weight * (color[3][from] - color[2][from]);
      const float value = above + down.weight * (below - above);
      s.to.store(item * batch.target_step + s.to.offset(c, y, x),
                 s.to.scale[c] * value + s.to.shift[c]);
    }
  }

 private:
  TENON_HD uint32_t load(const ImageView& image, int32_t x, int32_t y) const {
    switch (image.layout) {
      case PixelLayout::kOne:
        return load_pixel<PixelLayout::kOne>(image, x, y);
      case PixelLayout::kThree:
        return load_pixel<PixelLayout::kThree>(image, x, y);
      case PixelLayout::kFour:
        return load_pixel<PixelLayout::kFour>(image, x, y);
      case PixelLayout::kNv12:
        return load_pixel<PixelLayout::kNv12>(image, x, y);
      case PixelLayout::kI420:
        return load_pixel<PixelLayout::kI420>(image, x, y);
      default:
        return load_pixel<PixelLayout::kYuyv>(image, x, y);
    }
  }
  TENON_HD void unpack(uint32_t word, float* color) const {
    const ImageView& image = batch.first.image;
    if (is_yuv(image.layout))
      unpack_pixel<3, true>(word, image.color, color);
    else
      unpack_pixel<4, false>(word, image.color, color);
  }
};

/// The same for each pixel by itself.
inline void sample_pixels(const kit::Device& device, const ImageSampling* samplings,
                          int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    device.parallel_for(int64_t{samplings[i].to.width} * samplings[i].to.height,
                        SamplePixel{{samplings[i], 0, 0}});
}

}  // namespace tenon::kernels::inline TENON_TARGET
