// Interpolation of x (N, C, H, W) by a factor, as torch.nn.functional.interpolate:
// - UpsamplePlugin 1 (a tutorial's): mode "bilinear", by a whole factor;
// - UpSamplePlugin_TRT 01 in _TRT (tiny-tensorrt), ResizeNearest_TRT 1 (TensorRT): mode "nearest".
#include <tenon/kernels/scale_factor.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// Where an output coordinate lies between two of the input.
struct Between {
  int64_t low, high;
  float t;  // how far from low to high

  TENON_HD static Between of(int64_t at, int64_t in, int64_t out, bool align_corners) {
    float position;
    if (align_corners)
      position = out > 1 ? static_cast<float>(at) * static_cast<float>(in - 1)
                               / static_cast<float>(out - 1)
                         : 0.f;
    else
      position =
          (static_cast<float>(at) + 0.5f) * static_cast<float>(in) / static_cast<float>(out) - 0.5f;
    position = position < 0 ? 0 : position;
    const int64_t whole = static_cast<int64_t>(position), low = whole < in ? whole : in - 1;
    return {low, low + 1 < in ? low + 1 : low, position - static_cast<float>(low)};
  }
};

template <class E> struct UpsamplePixel {
  const E* x;
  E* y;
  int64_t in_height, in_width, height, width;
  bool align_corners;

  TENON_HD void operator()(int64_t i) const {
    const Between row = Between::of(i / width % height, in_height, height, align_corners);
    const Between column = Between::of(i % width, in_width, width, align_corners);
    const E* plane = x + i / (width * height) * in_height * in_width;
    const auto across = [&](int64_t at) {
      const float low = static_cast<float>(plane[at * in_width + column.low]);
      return low + (static_cast<float>(plane[at * in_width + column.high]) - low) * column.t;
    };
    const float low = across(row.low);
    y[i] = static_cast<E>(low + (across(row.high) - low) * row.t);
  }
};

struct Upsample {
  int32_t scaleFactor = 2;
  bool alignCorners = false;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("scaleFactor", &Upsample::scaleFactor).says("of height and width, 1 or more"),
      attribute("alignCorners", &Upsample::alignCorners),
  };
  static constexpr Spec spec{
      .name = "UpsamplePlugin",
      .inputs = {{"x", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text = "Bilinear interpolation of (N, C, H, W), as torch.nn.functional.interpolate.",
      .differs = "Attributes may have any integer type, int8 included. float16."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("x", in[0], "N, C, H, W");
    if (scaleFactor < 1)
      throw std::invalid_argument("scaleFactor must be 1 or more, found "
                                  + std::to_string(scaleFactor));
    out[0] = {in[0][0], in[0][1], in[0][2] * scaleFactor, in[0][3] * scaleFactor};
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(), UpsamplePixel<E>{x.data, y.data, x.shape[2], x.shape[3],
                                                           y.shape[2], y.shape[3], alignCorners});
  }
};
TENON_PLUGIN(Upsample);

template <class E> struct NearestPixel {
  const E* x;
  E* y;
  int64_t in_height, in_width, height, width;
  kernels::ScaleFactor factor;

  TENON_HD int64_t source(int64_t at, int64_t extent) const {
    const int64_t from = at * factor.denominator / factor.numerator;
    return from < extent ? from : extent - 1;
  }
  TENON_HD void operator()(int64_t i) const {
    const int64_t row = source(i / width % height, in_height), column = source(i % width, in_width);
    y[i] = x[(i / (width * height) * in_height + row) * in_width + column];
  }
};

struct UpsampleNearest {
  float scale = 2;

  using T = Types<float, Half, int8_t>;
  static constexpr auto attributes =
      std::tuple{attribute("scale", &UpsampleNearest::scale).says("of height and width")};
  static constexpr Spec spec{
      .name = "UpSamplePlugin_TRT",
      .version = "01",
      .name_space = "_TRT",
      .inputs = {{"x", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text = "torch.nn.functional.interpolate of (N, C, H, W) with mode nearest.",
      .differs = "The factor may be a fraction. It has a field, and a creator makes the plugin."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("x", in[0], "N, C, H, W");
    const kernels::ScaleFactor f = factor();
    out[0] = in[0];
    for (size_t i = 2; i < 4; ++i) out[0][i] = in[0][i] * f.numerator / f.denominator;
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(), NearestPixel<E>{x.data, y.data, x.shape[2], x.shape[3],
                                                          y.shape[2], y.shape[3], factor()});
  }

 private:
  kernels::ScaleFactor factor() const { return kernels::ScaleFactor::of(scale, "scale"); }
};
TENON_PLUGIN(UpsampleNearest);

struct ResizeNearest : UpsampleNearest {
  static constexpr auto attributes =
      std::tuple{attribute("scale", &ResizeNearest::scale).required().says("of height and width")};
  static constexpr Spec spec{.name = "ResizeNearest_TRT",
                             .inputs = UpsampleNearest::spec.inputs,
                             .outputs = UpsampleNearest::spec.outputs,
                             .protocol = Protocol::kV2,
                             .text = UpsampleNearest::spec.text,
                             .differs = "float16 and int8."};
};
TENON_PLUGIN(ResizeNearest);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
