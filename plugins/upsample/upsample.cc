// Interpolation of x (N, C, H, W) by a factor, as torch.nn.functional.interpolate:
// - UpsamplePlugin 1 (a tutorial's): mode "bilinear", by a whole factor;
// - UpSamplePlugin_TRT 01 in _TRT (tiny-tensorrt), ResizeNearest_TRT 1 (TensorRT): mode "nearest".
#include <tenon/kernels/scale_factor.h>
#include <tenon/kernels/workspace.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::Carver;

namespace {

// What an output (N, C, H, W) reads, for each of its rows and columns.
template <class V> struct Lines {
  V *rows, *columns;
  size_t bytes;

  Lines(void* memory, const Shape& out) {
    Carver carver(memory);
    rows = carver.array<V>(out[2]);
    columns = carver.array<V>(out[3]);
    bytes = carver.bytes();
  }
};

// Where an output coordinate lies between two of the input.
struct Between {
  int32_t low, high;
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
    return {static_cast<int32_t>(low), static_cast<int32_t>(low + 1 < in ? low + 1 : low),
            position - static_cast<float>(low)};
  }
};

struct BetweenOf {
  Between* to;
  int64_t in, out;
  bool align_corners;
  TENON_HD void operator()(int64_t at) const { to[at] = Between::of(at, in, out, align_corners); }
};

template <class E> struct UpsamplePixel {
  const E* x;
  E* y;
  const Between *rows, *columns;  // of the output
  int64_t in_height, in_width, height, width;

  TENON_HD void operator()(int64_t line, int64_t at) const {
    const Between row = rows[line % height], column = columns[at];
    const E* const plane = x + line / height * in_height * in_width;
    const auto across = [&](int64_t from_row) {
      const float low = static_cast<float>(plane[from_row * in_width + column.low]);
      return low + (static_cast<float>(plane[from_row * in_width + column.high]) - low) * column.t;
    };
    const float low = across(row.low);
    y[line * width + at] = static_cast<E>(low + (across(row.high) - low) * row.t);
  }
};

struct Upsample {
  int32_t scaleFactor = 2;
  bool alignCorners = false;

  using T = Types<float, Half, BFloat16>;
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
  size_t workspace(std::span<const Shape>, std::span<const Shape> out) const {
    return Lines<Between>(nullptr, out[0]).bytes;
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const int64_t in_height = x.shape[2], in_width = x.shape[3];
    const int64_t height = y.shape[2], width = y.shape[3];
    const Lines<Between> lines(device.workspace, y.shape);
    device.parallel_for(height, BetweenOf{lines.rows, in_height, height, alignCorners});
    device.parallel_for(width, BetweenOf{lines.columns, in_width, width, alignCorners});
    device.parallel_grid(y.shape[0] * y.shape[1] * height, width,
                         UpsamplePixel<E>{x.data, y.data, lines.rows, lines.columns, in_height,
                                          in_width, height, width});
  }
};
TENON_PLUGIN(Upsample);

struct NearestOf {
  int32_t* to;
  int64_t in;
  kernels::ScaleFactor factor;
  TENON_HD void operator()(int64_t at) const {
    const int64_t from = at * factor.denominator / factor.numerator;
    to[at] = static_cast<int32_t>(from < in ? from : in - 1);
  }
};

template <class E> struct NearestPixel {
  const E* x;
  E* y;
  const int32_t *rows, *columns;  // of the input, for each of the output
  int64_t in_height, in_width, height, width;

  TENON_HD void operator()(int64_t line, int64_t column) const {
    const E* const from = x + (line / height * in_height + rows[line % height]) * in_width;
    y[line * width + column] = from[columns[column]];
  }
};

// Twice as many rows and columns: those of two pixels lie side by side.
template <class E> struct DoubledPixel {
  const E* x;
  E* y;
  int64_t in_height, in_width;

  TENON_HD void operator()(int64_t line, int64_t column) const {
    const int64_t plane = line / (2 * in_height), row = line / 2 % in_height;
    const E value = x[(plane * in_height + row) * in_width + column];
    E* const to = y + (line * in_width + column) * 2;
    to[0] = value;
    to[1] = value;
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
  size_t workspace(std::span<const Shape>, std::span<const Shape> out) const {
    return Lines<int32_t>(nullptr, out[0]).bytes;
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const int64_t in_height = x.shape[2], in_width = x.shape[3];
    const int64_t height = y.shape[2], width = y.shape[3];
    const int64_t all_rows = y.shape[0] * y.shape[1] * height;
    if (factor().numerator == 2 && factor().denominator == 1)
      return device.parallel_grid(all_rows, in_width,
                                  DoubledPixel<E>{x.data, y.data, in_height, in_width});
    const Lines<int32_t> lines(device.workspace, y.shape);
    device.parallel_for(height, NearestOf{lines.rows, in_height, factor()});
    device.parallel_for(width, NearestOf{lines.columns, in_width, factor()});
    device.parallel_grid(all_rows, width,
                         NearestPixel<E>{x.data, y.data, lines.rows, lines.columns, in_height,
                                         in_width, height, width});
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
