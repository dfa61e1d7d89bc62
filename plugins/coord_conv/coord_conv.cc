// CoordConvAC 1: channels of coordinates for a convolution that is to know where it is.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

constexpr int64_t kCoordinates = 2;  // rows, columns

// From -1 at the first of `extent` places to 1 at the last.
TENON_HD float coordinate(int64_t at, int64_t extent) {
  return extent > 1 ? 2 * static_cast<float>(at) / static_cast<float>(extent - 1) - 1 : -1.f;
}

template <class E> struct WithCoordinates {
  const E* x;
  E* y;
  int64_t channels, height, width;  // of x

  TENON_HD void operator()(int64_t i) const {
    const int64_t plane = height * width, channel = i / plane % (channels + kCoordinates);
    const int64_t image = i / plane / (channels + kCoordinates);
    if (channel < channels)
      y[i] = x[(image * channels + channel) * plane + i % plane];
    else if (channel == channels)
      y[i] = static_cast<E>(coordinate(i / width % height, height));
    else
      y[i] = static_cast<E>(coordinate(i % width, width));
  }
};

struct CoordConv {
  using T = Types<float, Half>;
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
    device.parallel_for(y.shape.volume(),
                        WithCoordinates<E>{x.data, y.data, x.shape[1], x.shape[2], x.shape[3]});
  }
};
TENON_PLUGIN(CoordConv);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
