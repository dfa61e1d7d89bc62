// RotateTRT and RotateTRT2 1 (BEVFormer_tensorrt): torchvision's rotate.
#include <tenon/kernels/workspace.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::Carver;

namespace {

enum class Interpolation { kBilinear = 0, kNearest = 1 };

// What a pixel of the result reads: elements of a plane and their weights, which are 0 for those
// outside.
struct RotatedPixels {
  static constexpr int kTaps = 4;
  int32_t* index;  // (kTaps, pixels)
  float* weight;   // as index

  RotatedPixels(Carver& carver, int64_t pixels)
      : index(carver.array<int32_t>(kTaps * pixels)), weight(carver.array<float>(kTaps * pixels)) {}
};

template <class E> struct FindRotated {
  const E *angle, *center;
  RotatedPixels to;
  int64_t height, width;
  Interpolation interpolation;

  TENON_HD void operator()(int64_t i) const {
    constexpr float kDegree = 0.017453292519943295f;
    const float angle_rad = -static_cast<float>(angle[0]) * kDegree;
    const float cosine = cosf(angle_rad), sine = sinf(angle_rad);
    const auto across = static_cast<float>(width), down = static_cast<float>(height);
    const float cx = static_cast<float>(center[0]) - across / 2;
    const float cy = static_cast<float>(center[1]) - down / 2;
    // From the middle of the image, and from the centre.
    const float x = static_cast<float>(i % width) + 0.5f - across / 2 - cx;
    const float y = static_cast<float>(i / width) + 0.5f - down / 2 - cy;
    const float column = cosine * x + sine * y + cx + (across - 1) / 2;
    const float row = -sine * x + cosine * y + cy + (down - 1) / 2;
    if (interpolation == Interpolation::kNearest) return put(i, 0, rintf(row), rintf(column), 1);
    const float top = floorf(row), left = floorf(column);
    const float below = row - top, beside = column - left;
    put(i, 0, top, left, (1 - beside) * (1 - below));
    put(i, 1, top, left + 1, beside * (1 - below));
    put(i, 2, top + 1, left, (1 - beside) * below);
    put(i, 3, top + 1, left + 1, beside * below);
  }

 private:
  TENON_HD void put(int64_t pixel, int64_t tap, float row, float column, float weight) const {
    const bool is_inside = row >= 0 && column >= 0 && row < static_cast<float>(height)
                           && column < static_cast<float>(width);
    const int64_t at = tap * height * width + pixel;
    to.index[at] = is_inside ? static_cast<int32_t>(row) * static_cast<int32_t>(width)
                                   + static_cast<int32_t>(column)
                             : 0;
    to.weight[at] = is_inside ? weight : 0;
  }
};

template <class E, int taps> struct RotatedElement {
  const E* image;
  E* y;
  RotatedPixels from;
  int64_t pixels;

  TENON_HD void operator()(int64_t channel, int64_t pixel) const {
    const E* const plane = image + channel * pixels;
    float sum = 0;
    for (int tap = 0; tap < taps; ++tap) {
      const int64_t at = tap * pixels + pixel;
      const float share = from.weight[at] * static_cast<float>(plane[from.index[at]]);
      sum += from.weight[at] == 0 ? 0 : share;  // not an infinity that has no weight
    }
    y[channel * pixels + pixel] = static_cast<E>(sum);
  }
};

struct Rotate {
  Interpolation interpolation = Interpolation::kNearest;

  using T = Types<float, Half, BFloat16, Quantized>;
  static constexpr auto attributes = std::tuple{
      attribute("interpolation", &Rotate::interpolation,
                {{"bilinear", Interpolation::kBilinear}, {"nearest", Interpolation::kNearest}})};
  static constexpr Spec spec{
      .name = "RotateTRT",
      .inputs = {{"img", kT}, {"angle", kReal}, {"center", kReal}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "An image (C, H, W) rotated by an angle in degrees, counter-clockwise, about a centre x, "
          "y in pixels, as torchvision's rotate. What comes from outside is 0.",
      .differs =
          "Places are worked out in float also in float16, and halves round to even, as PyTorch "
          "has it. bfloat16; int8 is linear, with any number of channels."};

  void check(std::span<const Shape> in) const {
    if (in[0].rank() != 3 || in[1].volume() != 1 || in[2].volume() != 2)
      throw std::invalid_argument(
          "expected an image (C, H, W), an angle (1) and a centre (2), found " + text_of(in[0])
          + ", " + text_of(in[1]) + " and " + text_of(in[2]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    RotatedPixels(carver, in[0][1] * in[0][2]);
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> image, Tensor<const E> angle,
           Tensor<const E> center, Tensor<E> y) const {
    const int64_t channels = image.shape[0], height = image.shape[1], width = image.shape[2];
    const int64_t pixels = height * width;
    Carver carver(device.workspace);
    const RotatedPixels from(carver, pixels);
    device.parallel_for(
        pixels, FindRotated<E>{angle.data, center.data, from, height, width, interpolation});
    if (interpolation == Interpolation::kNearest)
      device.parallel_grid(channels, pixels,
                           RotatedElement<E, 1>{image.data, y.data, from, pixels});
    else
      device.parallel_grid(
          channels, pixels,
          RotatedElement<E, RotatedPixels::kTaps>{image.data, y.data, from, pixels});
  }
};
TENON_PLUGIN(Rotate);
TENON_PLUGIN_AS(Rotate, "RotateTRT2");

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
