// grid_sampler, as MMCV and MMDeploy export torch.nn.functional.grid_sample: x (N, C, H, W) or (N,
// C, D, H, W) sampled at the positions of a grid. GridSampler2DTRT, GridSampler3DTRT and their
// second names (BEVFormer_tensorrt), whose grids have coordinates in planes, ten times as large.
#include <tenon/kernels/float_copies.h>
#include <tenon/kernels/grid_sample.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

struct GridSampler {
  GridInterpolation interpolation = GridInterpolation::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("interpolation_mode", &GridSampler::interpolation,
                {{"bilinear", GridInterpolation::kLinear},
                 {"nearest", GridInterpolation::kNearest},
                 {"bicubic", GridInterpolation::kCubic}}),
      attribute("padding_mode", &GridSampler::padding,
                {{"zeros", GridPadding::kZeros},
                 {"border", GridPadding::kBorder},
                 {"reflection", GridPadding::kReflection}}),
      attribute("align_corners", &GridSampler::align_corners),
  };
  static constexpr Spec spec{
      .name = "grid_sampler",
      .inputs = {{"input", kT}, {"grid", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text = "torch.nn.functional.grid_sample of images and volumes.",
      .differs =
          "Images can be interpolated by cubics. Places that are not numbers read what lies "
          "outside."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    const Extents &x = in[0], &grid = in[1];
    if ((x.size() != 4 && x.size() != 5) || grid.size() != x.size())
      throw std::invalid_argument(
          "expected an input and a grid of 4 or of 5 dimensions each, found "
          + std::to_string(x.size()) + " and " + std::to_string(grid.size()));
    if (x.size() == 5 && interpolation == GridInterpolation::kCubic)
      throw std::invalid_argument("bicubic interpolation is for inputs of 4 dimensions, found 5");
    out[0] = {x[0], x[1]};
    out[0].insert(out[0].end(), grid.begin() + 1, grid.end() - 1);
  }
  void check(std::span<const Shape> in) const {
    const int axes = in[0].rank() - 2;
    if (in[1][0] != in[0][0] || in[1][axes + 1] != axes)
      throw std::invalid_argument("the grid must have the batch size of the input, "
                                  + std::to_string(in[0][0]) + ", and " + std::to_string(axes)
                                  + " coordinates, found " + std::to_string(in[1][0]) + " and "
                                  + std::to_string(in[1][axes + 1]));
    for (int i = 0; i < axes; ++i)
      if (in[0][i + 2] < 1) throw std::invalid_argument("the input has no elements to sample");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    const auto bytes = [&]<class E>(GridCall<E> call) {
      return grid_sample_workspace(rule(), in[0].rank() - 2, call);
    };
    return std::max(bytes(call_of<float>(in[0], in[1])), bytes(call_of<Half>(in[0], in[1])));
  }

  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> grid, Tensor<E> y) const {
    GridCall<E> call = call_of<E>(x.shape, grid.shape);
    call.x = x.data;
    call.grid = grid.data;
    call.y = y.data;
    grid_sample(device, rule(), x.shape.rank() - 2, call);
  }

 private:
  GridRule rule() const { return {interpolation, padding, align_corners}; }
  // Without addresses.
  template <class E> static GridCall<E> call_of(const Shape& x, const Shape& grid) {
    const int axes = x.rank() - 2;
    int64_t pixels = 1;
    for (int i = 0; i < axes; ++i) pixels *= grid[i + 1];
    return {nullptr, nullptr,     nullptr, x[0], x[1], axes == 3 ? x[2] : 1,
            x[axes], x[axes + 1], pixels};
  }
};
TENON_PLUGIN(GridSampler);

namespace {

// A grid (N, axes, pixels) from -10 to 10 as (N, pixels, axes) from -1 to 1.
template <class E> struct TransposedGrid {
  const E* grid;
  float* to;
  int64_t axes, pixels;

  TENON_HD void operator()(int64_t i) const {
    const int64_t axis = i % axes, pixel = i / axes % pixels, image = i / (axes * pixels);
    to[i] = static_cast<float>(grid[(image * axes + axis) * pixels + pixel]) / 10;
  }
};

// Images and volumes, all in float.
template <int axes> struct PlanarGridSampler {
  GridInterpolation interpolation = GridInterpolation::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;

  using T = Types<float, Half, BFloat16, Quantized>;

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    for (const Extents& x : in)
      if (x.size() != axes + 2)
        throw std::invalid_argument("input and grid must have " + std::to_string(axes + 2)
                                    + " dimensions, found " + std::to_string(x.size()));
    if (axes == 3 && interpolation == GridInterpolation::kCubic)
      throw std::invalid_argument("bicubic interpolation is for images, not for volumes");
    out[0] = in[1];
    out[0][0] = in[0][0];
    out[0][1] = in[0][1];
  }
  void check(std::span<const Shape> in) const {
    if (in[1][0] != in[0][0] || in[1][1] != axes)
      throw std::invalid_argument("the grid must have the batch size of the input, "
                                  + std::to_string(in[0][0]) + ", and " + std::to_string(axes)
                                  + " coordinates, found " + std::to_string(in[1][0]) + " and "
                                  + std::to_string(in[1][1]));
    for (int i = 0; i < axes; ++i)
      if (in[0][i + 2] < 1) throw std::invalid_argument("the input has no elements to sample");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const {
    Carver carver;
    FloatCopies::reserve(carver, in[0].volume());
    FloatCopies::reserve(carver, out[0].volume());
    carver.array<float>(in[1].volume());
    return carver.bytes() + grid_sample_workspace(rule(), axes, call_of(in[0], in[1]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> grid, Tensor<E> y) const {
    Carver carver(device.workspace);
    const FloatCopies copies(device, carver);
    GridCall<float> call = call_of(x.shape, grid.shape);
    call.x = copies.of(x.data, x.shape.volume());
    call.y = copies.result(y.data, y.shape.volume());
    float* const transposed = carver.array<float>(grid.shape.volume());
    device.parallel_for(grid.shape.volume(),
                        TransposedGrid<E>{grid.data, transposed, axes, call.pixels});
    call.grid = transposed;
    Device rest = device;
    rest.workspace = carver.array<char>(0);
    grid_sample(rest, rule(), axes, call);
    copies.store(call.y, y.data, y.shape.volume());
  }

 private:
  GridRule rule() const { return {interpolation, padding, align_corners}; }
  // Without addresses.
  static GridCall<float> call_of(const Shape& x, const Shape& grid) {
    int64_t pixels = 1;
    for (int i = 0; i < axes; ++i) pixels *= grid[i + 2];
    return {nullptr, nullptr,     nullptr, x[0], x[1], axes == 3 ? x[2] : 1,
            x[axes], x[axes + 1], pixels};
  }
};

template <class P>
constexpr auto kPlanarAttributes = std::tuple{attribute("interpolation_mode", &P::interpolation,
                                                        {{"bilinear", GridInterpolation::kLinear},
                                                         {"nearest", GridInterpolation::kNearest},
                                                         {"bicubic", GridInterpolation::kCubic}}),
                                              attribute("padding_mode", &P::padding,
                                                        {{"zeros", GridPadding::kZeros},
                                                         {"border", GridPadding::kBorder},
                                                         {"reflection", GridPadding::kReflection}}),
                                              attribute("align_corners", &P::align_corners)};

constexpr Spec planar_spec(const char* name) {
  return {.name = name,
          .inputs = {{"input", kT}, {"grid", kT}},
          .outputs = {{"output", kT}},
          .protocol = Protocol::kV2,
          .text =
              "torch.nn.functional.grid_sample with a grid (N, 2 or 3, ...) whose coordinates are "
              "planes, and go from -10 to 10.",
          .differs =
              "Places are worked out in float also in float16. bfloat16; int8 is linear, with any "
              "number of channels, and for volumes, too."};
}

struct GridSampler2d : PlanarGridSampler<2> {
  static constexpr auto attributes = kPlanarAttributes<GridSampler2d>;
  static constexpr Spec spec = planar_spec("GridSampler2DTRT");
};
TENON_PLUGIN(GridSampler2d);
TENON_PLUGIN_AS(GridSampler2d, "GridSampler2DTRT2");

struct GridSampler3d : PlanarGridSampler<3> {
  static constexpr auto attributes = kPlanarAttributes<GridSampler3d>;
  static constexpr Spec spec = planar_spec("GridSampler3DTRT");
};
TENON_PLUGIN(GridSampler3d);
TENON_PLUGIN_AS(GridSampler3d, "GridSampler3DTRT2");

}  // namespace

}  // namespace tenon::plugins::TENON_TARGET
