// MMCVRotatedFeatureAlign 1: mmcv.ops.rotated_feature_align.
#include <tenon/kernels/roi_region.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

constexpr int64_t kMaxTaps = 5 * 4;

// What the elements of a pixel read. A box is y and x of its centre, width, height and angle.
template <class E> struct PixelTaps {
  const E* boxes;
  int64_t height, width, points;
  float scale;

  // Returns how many there are, up to kMaxTaps.
  TENON_HD int64_t find(int64_t pixel, kernels::Tap* taps) const {
    const E* const box = boxes + pixel * 5;
    const auto number = [&](int64_t k) { return static_cast<float>(box[k]); };
    const float row = number(0) * scale, column = number(1) * scale;
    const float across = number(2) * scale / 2, down = number(3) * scale / 2;
    const float cosine = cosf(number(4)), sine = sinf(number(4));
    int64_t count = 0;
    const auto sample = [&](float y, float x) {
      if (kernels::find_taps({}, height, width, y, x, 1, taps + count)) count += 4;
    };
    sample(row, column);
    for (int64_t corner = 1; corner < points; ++corner) {
      const float right = corner == 2 || corner == 3 ? -across : across;
      const float below = corner >= 3 ? -down : down;
      sample(row + sine * right + cosine * below, column + cosine * right - sine * below);
    }
    return count;
  }
};

template <class E>
TENON_HD E aligned(const E* plane, int64_t pixel, const kernels::Tap* taps, int64_t count) {
  auto sum = static_cast<float>(plane[pixel]);
  for (int64_t k = 0; k < count; ++k)
    sum += static_cast<float>(plane[taps[k].offset]) * taps[k].weight;
  return static_cast<E>(sum);
}

#if defined(__CUDACC__)

template <class E> struct AlignedElement {
  const E* x;
  E* y;
  PixelTaps<E> pixels;
  int64_t channels;

  TENON_HD void operator()(int64_t i) const {
    const int64_t plane = pixels.height * pixels.width, pixel = i % plane,
                  image = i / plane / channels;
    kernels::Tap taps[kMaxTaps];
    const int64_t count = pixels.find(image * plane + pixel, taps);
    y[i] = aligned(x + i - pixel, pixel, taps, count);
  }
};

template <class E>
void align(const Device& device, Tensor<const E> x, const PixelTaps<E>& pixels, Tensor<E> y) {
  device.parallel_for(y.shape.volume(), AlignedElement<E>{x.data, y.data, pixels, y.shape[1]});
}

#else

// All channels of some pixels at a time, which read the same.
template <class E>
void align(const Device& device, Tensor<const E> x, const PixelTaps<E>& pixels, Tensor<E> y) {
  constexpr int64_t kPixels = 64;
  const int64_t channels = y.shape[1], plane = pixels.height * pixels.width;
  const int64_t blocks = (plane + kPixels - 1) / kPixels;
  device.parallel_ranges(y.shape[0] * blocks, 1, [&](int64_t begin, int64_t end) {
    kernels::Tap taps[kPixels * kMaxTaps];
    int64_t counts[kPixels];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / blocks, first = i % blocks * kPixels;
      const int64_t width = std::min(kPixels, plane - first);
      for (int64_t p = 0; p < width; ++p)
        counts[p] = pixels.find(image * plane + first + p, taps + p * kMaxTaps);
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t start = (image * channels + c) * plane;
        for (int64_t p = 0; p < width; ++p)
          y.data[start + first + p] =
              aligned(x.data + start, first + p, taps + p * kMaxTaps, counts[p]);
      }
    }
  });
}

#endif

struct RotatedFeatureAlign {
  float spatial_scale = 1;
  int32_t points = 1;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("spatial_scale", &RotatedFeatureAlign::spatial_scale)
          .says("elements of the features for a unit of the boxes"),
      attribute("points", &RotatedFeatureAlign::points).says("1: centres; 5: corners, too")};
  static constexpr Spec spec{
      .name = "MMCVRotatedFeatureAlign",
      .inputs = {{"features", kT}, {"best_rbboxes", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.rotated_feature_align (\"R3Det\", Yang et al. 2019): to each element of "
          "features (N, C, H, W) bilinear samples of its plane are added, which lie at the centre, "
          "or also at the corners, of the box that best_rbboxes (N, H, W, 5) has for its pixel: y "
          "and x of the centre, width, height and angle in radians.",
      .differs = "There is none for TensorRT elsewhere. float16 and bfloat16."};

  void prepare() const {
    if (points != 1 && points != 5)
      throw std::invalid_argument("points must be 1 or 5, found " + std::to_string(points));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("features", in[0], "N, C, H, W");
    out[0] = in[0];
  }
  void check(std::span<const Shape> in) const {
    require_shape("best_rbboxes", in[1], {in[0][0], in[0][2], in[0][3], 5});
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> boxes, Tensor<E> y) const {
    align(device, x, PixelTaps<E>{boxes.data, y.shape[2], y.shape[3], points, spatial_scale}, y);
  }
};
TENON_PLUGIN(RotatedFeatureAlign);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
