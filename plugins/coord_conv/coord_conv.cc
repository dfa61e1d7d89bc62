// CoordConvAC 1: channels of coordinates for a convolution that is to know where it is.
#include <tenon/kernels/move_rows.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

constexpr int64_t kCoordinates = 2;  // rows, columns

// From -1 at the first of `extent` places to 1 at the last.
TENON_HD float coordinate(int64_t at, int64_t extent) {
  return extent > 1 ? 2 * static_cast<float>(at) / static_cast<float>(extent - 1) - 1 : -1.f;
}

// A line of the two channels of an image.
template <class E> struct Coordinates {
  E* y;  // of the first image
  int64_t image_step, height, width;

  TENON_HD void operator()(int64_t line, int64_t column) const {
    const int64_t row = line % height, channel = line / height % kCoordinates;
    E* const to = y + line / height / kCoordinates * image_step + (channel * height + row) * width;
    to[column] = static_cast<E>(channel == 0 ? coordinate(row, height) : coordinate(column, width));
  }
};

struct CoordConv {
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec{
      .name = "CoordConvAC",
      .inputs = {{"x", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Appends two channels to (N, C, H, W): the row and the column of each pixel, from "
          "-1 at the first to 1 at the last.",
      .differs = "A single row or column is at -1."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("x", in[0], "N, C, H, W");
    out[0] = in[0];
    out[0][1] = in[0][1] + kCoordinates;
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const int64_t images = x.shape[0], height = x.shape[2], width = x.shape[3];
    const int64_t from = x.shape[1] * height * width, to = y.shape[1] * height * width;
    kernels::move_rows(device, x.data, from, images, from, y.data, to);
    device.parallel_grid(images * kCoordinates * height, width,
                         Coordinates<E>{y.data + from, to, height, width});
  }
};
TENON_PLUGIN(CoordConv);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
