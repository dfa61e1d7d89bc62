// GridPriorsTRT 1 (MMDeploy), GridAnchorDynamicPluginDynamic 1 (amirstan): anchors around every
// point of a grid.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

// One number of one anchor.
template <class E> struct ShiftedAnchor {
  const E* anchors;
  E* out;
  int64_t numbers, width;  // of all anchors, and points of a row
  float stride_x, stride_y;

  TENON_HD void operator()(int64_t point, int64_t number) const {
    const float x = static_cast<float>(point % width) * stride_x;
    const float y = static_cast<float>(point / width) * stride_y;
    out[point * numbers + number] =
        static_cast<E>(static_cast<float>(anchors[number]) + (number % 2 == 0 ? x : y));
  }
};

template <class E>
void shift_anchors(const Device& device, const Tensor<const E>& anchors, const Tensor<E>& out,
                   int64_t width, float stride_x, float stride_y) {
  const int64_t numbers = anchors.shape.volume();
  if (numbers == 0) return;
  device.parallel_grid(
      out.shape.volume() / numbers, numbers,
      ShiftedAnchor<E>{anchors.data, out.data, numbers, width, stride_x, stride_y});
}

struct GridPriors {
  int32_t stride_w = 1, stride_h = 1;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("stride_w", &GridPriors::stride_w).says("from column to column"),
                 attribute("stride_h", &GridPriors::stride_h).says("from row to row")};
  static constexpr Spec spec{
      .name = "GridPriorsTRT",
      .inputs = {{"base_anchors", kT}, {"height", kAny}, {"width", kAny}},
      .outputs = {{"priors", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Anchors (A, 4) as corners become (H * W * A, 4): the same around every point of a "
          "grid, row by row. The first axes of the other inputs are H and W; their elements "
          "have no meaning."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = {in[1].at(0) * in[2].at(0) * in[0].at(0), 4};
  }
  void check(std::span<const Shape> in) const { require_shape("base_anchors", in[0], "A, 4"); }
  template <class E>
  void run(const Device& device, Tensor<const E> anchors, Tensor<const void>,
           Tensor<const void> columns, Tensor<E> out) const {
    shift_anchors(device, anchors, out, columns.shape[0], static_cast<float>(stride_w),
                  static_cast<float>(stride_h));
  }
};
TENON_PLUGIN(GridPriors);

struct GridAnchors {
  int32_t stride = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{attribute("stride", &GridAnchors::stride)
                                                    .required()
                                                    .says("from row to row and column to column")};
  static constexpr Spec spec{
      .name = "GridAnchorDynamicPluginDynamic",
      .inputs = {{"feature", kAny}, {"base_anchors", kT}},
      .outputs = {{"anchors", kT}},
      .protocol = Protocol::kV2,
      .text =
          "As GridPriorsTRT, with one stride, for the points of a feature map (N, C, H, W), whose "
          "elements have no meaning.",
      .differs = "float16."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("feature", in[0], "N, C, H, W");
    require_axes("base_anchors", in[1], "A, 4");
    out[0] = {in[0][2] * in[0][3] * in[1][0], 4};
  }
  void check(std::span<const Shape> in) const { require_shape("base_anchors", in[1], "A, 4"); }
  template <class E>
  void run(const Device& device, Tensor<const void> feature, Tensor<const E> anchors,
           Tensor<E> out) const {
    const auto step = static_cast<float>(stride);
    shift_anchors(device, anchors, out, feature.shape[3], step, step);
  }
};
TENON_PLUGIN(GridAnchors);

}  // namespace tenon::plugins::TENON_TARGET
