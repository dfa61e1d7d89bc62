// PillarScatterPlugin 1 (TensorRT): features of PointPillars' pillars at their places of the grid.
#include <tenon/kernels/fill.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// One feature of one pillar, at its place. Pillars that are not there, or outside, write nothing.
template <class E> struct ScatterPillar {
  const E* features;
  const int32_t *coordinates, *counts;
  E* y;
  int64_t pillars, numbers, height, width;

  TENON_HD void operator()(int64_t i) const {
    const int64_t feature = i % numbers, pillar = i / numbers % pillars;
    const int64_t frame = i / (numbers * pillars);
    if (pillar >= counts[frame]) return;
    const int32_t* at = coordinates + (frame * pillars + pillar) * 4;
    if (at[2] < 0 || at[2] >= height || at[3] < 0 || at[3] >= width) return;
    y[((frame * numbers + feature) * height + at[2]) * width + at[3]] = features[i];
  }
};

struct PillarScatter {
  std::vector<int32_t> dense_shape;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("dense_shape", &PillarScatter::dense_shape)
                     .required()
                     .says("rows and columns of the grid")};
  static constexpr Spec spec{
      .name = "PillarScatterPlugin",
      .inputs = {{"features", kT}, {"coordinates", kInt32}, {"num_pillars", kInt32}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Features of pillars (N, pillars, C), of which a frame has num_pillars, at the rows and "
          "columns that coordinates (N, pillars, 4) have last: (N, C, rows, columns). Other places "
          "are 0.",
      .differs = "Any number of features, not 64 alone; places outside are left out. bfloat16."};

  void prepare() const {
    if (dense_shape.size() != 2 || dense_shape[0] < 1 || dense_shape[1] < 1)
      throw std::invalid_argument("dense_shape must have 2 positive elements");
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("features", in[0], "N, pillars, C");
    out[0] = {in[0][0], in[0][2], dense_shape[0], dense_shape[1]};
  }
  void check(std::span<const Shape> in) const {
    if (in[1].volume() != in[0][0] * in[0][1] * 4 || in[2].volume() != in[0][0])
      throw std::invalid_argument(
          "features " + text_of(in[0]) + ", coordinates " + text_of(in[1]) + " and num_pillars "
          + text_of(in[2]) + " do not fit; expected (N, pillars, C), (N, pillars, 4) and (N)");
  }
  template <class E>
  void run(const Device& device, Tensor<const E> features, Tensor<const int32_t> coordinates,
           Tensor<const int32_t> counts, Tensor<E> y) const {
    fill(device, y.data, y.shape.volume(), static_cast<E>(0.f));
    device.parallel_for(
        features.shape.volume(),
        ScatterPillar<E>{features.data, coordinates.data, counts.data, y.data, features.shape[1],
                         features.shape[2], y.shape[2], y.shape[3]});
  }
};
TENON_PLUGIN(PillarScatter);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
