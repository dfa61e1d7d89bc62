// grid_sampler, as MMCV and MMDeploy export torch.nn.functional.grid_sample: x (N, C, H, W) or (N,
// C, D, H, W) sampled at the positions of a grid.
#include <tenon/kernels/grid_sample.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

struct GridSampler {
  GridInterpolation interpolation = GridInterpolation::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;

  using T = Types<float, Half>;
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

}  // namespace tenon::plugins::TENON_TARGET
