// RotateTRT and RotateTRT2 1 (BEVFormer_tensorrt): torchvision's rotate.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

enum class Interpolation { kBilinear = 0, kNearest = 1 };

// One element of an image (C, H, W) rotated about a centre.
template <class E> struct RotatedElement {
  const E *image, *angle, *center;
  E* y;
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
    const float at_y = static_cast<float>(i / width % height) + 0.5f - down / 2 - cy;
    const float column = cosine * x + sine * at_y + cx + (across - 1) / 2;
    const float row = -sine * x + cosine * at_y + cy + (down - 1) / 2;
    y[i] = static_cast<E>(sample(image + i / (width * height) * height * width, row, column));
  }

 private:
  TENON_HD float read(const E* plane, float row, float column) const {
    const bool is_inside = row >= 0 && column >= 0 && row < static_cast<float>(height)
                           && column < static_cast<float>(width);
    if (!is_inside) return 0;
    return static_cast<float>(
        plane[static_cast<int64_t>(row) * width + static_cast<int64_t>(column)]);
  }
  TENON_HD float sample(const E* plane, float row, float column) const {
    if (interpolation == Interpolation::kNearest) return read(plane, rintf(row), rintf(column));
    const float top = floorf(row), left = floorf(column);
    const float down = row - top, across = column - left;
    return (read(plane, top, left) * (1 - across) + read(plane, top, left + 1) * across)
               * (1 - down)
           + (read(plane, top + 1, left) * (1 - across) + read(plane, top + 1, left + 1) * across)
                 * down;
  }
};

struct Rotate {
  Interpolation interpolation = Interpolation::kNearest;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("interpolation", &Rotate::interpolation,
                {{"bilinear", Interpolation::kBilinear}, {"nearest", Interpolation::kNearest}})};
  static constexpr Spec spec{
      .name = "RotateTRT",
      .inputs = {{"img", kT}, {"angle", kT}, {"center", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "An image (C, H, W) rotated by an angle in degrees, counter-clockwise, about a centre x, "
          "y in pixels, as torchvision's rotate. What comes from outside is 0.",
      .differs =
          "Places are worked out in float also in float16, and halves round to even, as PyTorch "
          "has it. bfloat16; no int8."};

  void check(std::span<const Shape> in) const {
    if (in[0].rank() != 3 || in[1].volume() != 1 || in[2].volume() != 2)
      throw std::invalid_argument(
          "expected an image (C, H, W), an angle (1) and a centre (2), found " + text_of(in[0])
          + ", " + text_of(in[1]) + " and " + text_of(in[2]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> image, Tensor<const E> angle,
           Tensor<const E> center, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(),
                        RotatedElement<E>{image.data, angle.data, center.data, y.data,
                                          image.shape[1], image.shape[2], interpolation});
  }
};
TENON_PLUGIN(Rotate);
TENON_PLUGIN_AS(Rotate, "RotateTRT2");

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
