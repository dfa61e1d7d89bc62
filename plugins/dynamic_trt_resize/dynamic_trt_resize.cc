// DynamicTRTResize 1: bicubic interpolation (A = -0.75, borders repeated) of x to the height and
// width of a second tensor, of which only the shape counts. As torch.nn.functional.interpolate.
#include <tenon/kernels/bicubic_resize.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

struct DynamicTrtResize {
  int32_t align_corners = 1;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("align_corners", &DynamicTrtResize::align_corners)};
  // Version 2, because programs look for it in getPluginCreatorList().
  static constexpr Spec spec{.name = "DynamicTRTResize",
                             .inputs = {{"x", kT}, {"size_tensor", kAny}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "torch.nn.functional.interpolate with mode bicubic, to the height "
                                 "and width of size_tensor (N, C, H, W), whose elements have no "
                                 "meaning."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("x", in[0], "N, C, H, W");
    require_axes("size_tensor", in[1], "N, C, H, W");
    out[0] = {in[0][0], in[0][1], in[1][2], in[1][3]};
  }
  void check(std::span<const Shape> in) const { require_resizable(in[0][2], in[0][3]); }
  size_t workspace(std::span<const Shape>, std::span<const Shape> out) const {
    return bicubic_resize_workspace(out[0][3]);
  }

  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const void>, Tensor<E> y) const {
    bicubic_resize<E>(device, x.data, y.data, x.shape[0] * x.shape[1],
                      {x.shape[2], y.shape[2], align_corners != 0},
                      {x.shape[3], y.shape[3], align_corners != 0});
  }
};
TENON_PLUGIN(DynamicTrtResize);

}  // namespace tenon::plugins::TENON_TARGET
