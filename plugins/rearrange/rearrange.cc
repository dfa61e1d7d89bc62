// Elements that only move: FlattenConcat_TRT, BatchTilePlugin_TRT, SpecialSlice_TRT 1, and
// Reorg_TRT 1 and 2, all of TensorRT.
#include <tenon/kernels/move_rows.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

using Movable = Types<float, Half, BFloat16, int32_t, int8_t>;

struct FlattenConcat {
  int32_t axis = 1;
  bool ignores_batch = false;

  using T = Movable;
  static constexpr auto attributes =
      std::tuple{attribute("axis", &FlattenConcat::axis)
                     .required()
                     .says("1 to 3: the axis of the output that has the elements"),
                 attribute("ignoreBatch", &FlattenConcat::ignores_batch)
                     .says("has no effect: all images are copied")};
  static constexpr Spec spec{
      .name = "FlattenConcat_TRT",
      .inputs = {{"x", kT, kRepeated}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "The elements of each image of all inputs (N, C, H, W), one input after the other, along "
          "one axis; the other axes of an image are 1.",
      .differs =
          "Axes 2 and 3 give the elements of their own image, and inputs may differ in all axes "
          "but the first. Any type of elements."};

  void prepare() const {
    if (axis < 1 || axis > 3)
      throw std::invalid_argument("axis must be 1, 2 or 3, found " + std::to_string(axis));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    Extent total = 0;
    for (const Extents& x : in) {
      require_axes("x", x, "N, C, H, W");
      total = total + x[1] * x[2] * x[3];
    }
    out[0] = {in[0][0], 1, 1, 1};
    out[0][static_cast<size_t>(axis)] = total;
  }
  void check(std::span<const Shape> in) const {
    for (const Shape& x : in)
      if (x[0] != in[0][0])
        throw std::invalid_argument("inputs must have as many images, found " + text_of(in[0])
                                    + " and " + text_of(x));
  }
  template <class E> void run(const Device& device, Tensors<const E> x, Tensor<E> y) const {
    int64_t offset = 0;
    for (int i = 0; i < x.count; ++i) {
      const Shape& s = x[i].shape;
      const int64_t count = s[1] * s[2] * s[3];
      kernels::move_rows(device, x[i].data, count, s[0], count, y.data + offset,
                         y.shape[1] * y.shape[2] * y.shape[3]);
      offset += count;
    }
  }
};
TENON_PLUGIN(FlattenConcat);

struct BatchTile {
  using T = Movable;
  static constexpr Spec spec{
      .name = "BatchTilePlugin_TRT",
      .inputs = {{"images", kAny}, {"x", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text = "x (1, ...) once for each image, which are counted by the first axis of images.",
      .differs = "x may have any number of axes, and any type of elements."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].empty() || in[1].empty())
      throw std::invalid_argument("images and x must have a first axis, of images");
    out[0] = in[1];
    out[0][0] = in[0][0];
  }
  void check(std::span<const Shape> in) const {
    if (in[1][0] != 1)
      throw std::invalid_argument("x must be of one image, found " + text_of(in[1]));
  }
  template <class E>
  void run(const Device& device, Tensor<const void>, Tensor<const E> x, Tensor<E> y) const {
    const int64_t count = x.shape.volume();
    kernels::move_rows(device, x.data, 0, y.shape[0], count, y.data, count);
  }
};
TENON_PLUGIN(BatchTile);

// The box of a detection. A row is too short for a loop.
template <class E> struct SlicedBox {
  static constexpr int64_t kNumbers = 6, kTaken = 4;

  const E* detections;
  E* boxes;

  TENON_HD void operator()(int64_t, int64_t i) const {
    E box[kTaken];
    for (int64_t k = 0; k < kTaken; ++k) box[k] = detections[i * kNumbers + k];
    for (int64_t k = 0; k < kTaken; ++k) boxes[i * kTaken + k] = box[k];
  }
};

struct SpecialSlice {
  using T = Movable;
  static constexpr Spec spec{.name = "SpecialSlice_TRT",
                             .inputs = {{"detections", kT}},
                             .outputs = {{"boxes", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "The first 4 of the 6 numbers of each detection (N, B, 6), as "
                                 "DetectionLayer_TRT gives them: y1, x1, y2, x2.",
                             .differs = "Any type of elements."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("detections", in[0], "N, B, 6");
    out[0] = {in[0][0], in[0][1], SlicedBox<float>::kTaken};
  }
  void check(std::span<const Shape> in) const { require_shape("detections", in[0], "N, B, 6"); }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    device.parallel_grid(1, y.shape[0] * y.shape[1], SlicedBox<E>{x.data, y.data});
  }
};
TENON_PLUGIN(SpecialSlice);

// Darknet reads x (C, H, W) as (C / s^2, H s, W s), and moves each s x s block into channels. The
// result has the elements in the order of (C, H, W).
template <class E> struct Reorganized {
  const E* x;
  E* y;
  int64_t channels, height, width, stride;

  TENON_HD void operator()(int64_t line, int64_t column) const {
    const int64_t row = line % height, channel = line / height % channels;
    const int64_t planes = channels / (stride * stride), block = channel / planes;
    const int64_t plane = line / height / channels * planes + channel % planes;
    const int64_t from_row = row * stride + block / stride;
    const E* const from =
        x + (plane * height * stride + from_row) * width * stride + block % stride;
    y[line * width + column] = from[column * stride];
  }
};

struct Reorg {
  int32_t stride = 2;

  using T = Movable;
  static constexpr auto attributes = std::tuple{attribute("stride", &Reorg::stride).required()};
  static constexpr Spec spec{
      .name = "Reorg_TRT",
      .inputs = {{"x", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text = "Darknet's reorg: (N, C, H, W) becomes (N, C * stride^2, H / stride, W / stride).",
      .differs =
          "Any type of elements. Channels that stride^2 does not divide are an error; there it "
          "reads outside."};

  void prepare() const { require_at_least("stride", stride, 1); }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("x", in[0], "N, C, H, W");
    out[0] = {in[0][0], in[0][1] * stride * stride, in[0][2] / stride, in[0][3] / stride};
  }
  void check(std::span<const Shape> in) const {
    const int64_t block = int64_t{stride} * stride;
    if (in[0][1] % block != 0 || in[0][2] % stride != 0 || in[0][3] % stride != 0)
      throw std::invalid_argument(
          "a stride of " + std::to_string(stride)
          + " must divide height and width, and its square the channels, of x, found "
          + text_of(in[0]));
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const int64_t height = x.shape[2], width = x.shape[3];
    device.parallel_grid(x.shape[0] * x.shape[1] * height, width,
                         Reorganized<E>{x.data, y.data, x.shape[1], height, width, stride});
  }
};
TENON_PLUGIN(Reorg);
TENON_PLUGIN_AS(Reorg, "Reorg_TRT", "2");

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
