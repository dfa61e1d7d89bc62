// TRTBicubicInterpolate: bicubic interpolation of x by two factors, which may be fractions.
#include <tenon/kernels/bicubic_resize.h>
#include <tenon/kernels/scale_factor.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

struct TrtBicubicInterpolate {
  std::vector<float> scale_factor;
  bool align_corners = true;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("scale_factor", &TrtBicubicInterpolate::scale_factor)
          .required()
          .length_in_bytes(2)
          .says("of height and of width"),
      attribute("align_corners", &TrtBicubicInterpolate::align_corners),
  };
  static constexpr Spec spec{
      .name = "TRTBicubicInterpolate",
      .inputs = {{"input", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "torch.nn.functional.interpolate with mode bicubic and the factors of height and "
          "width.",
      .differs =
          "Factors may be fractions, and results are as large as PyTorch's: floor(extent * "
          "factor)."};

  void prepare() const {
    if (scale_factor.size() != 2)
      throw std::invalid_argument("scale_factor must have 2 values (height, width), found "
                                  + std::to_string(scale_factor.size()));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("input", in[0], "N, C, H, W");
    out[0] = in[0];
    for (size_t i = 0; i < 2; ++i) {
      const ScaleFactor f = ScaleFactor::of(scale_factor[i]);
      out[0][i + 2] = in[0][i + 2] * f.numerator / f.denominator;
    }
  }
  void check(std::span<const Shape> in) const { require_resizable(in[0][2], in[0][3]); }
  size_t workspace(std::span<const Shape>, std::span<const Shape> out) const {
    return bicubic_resize_workspace(out[0][3]);
  }

  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const auto axis = [&](int i) {
      return CubicAxis{x.shape[i + 2], y.shape[i + 2], align_corners,
                       1 / scale_factor[static_cast<size_t>(i)]};
    };
    bicubic_resize<E>(device, x.data, y.data, x.shape[0] * x.shape[1], axis(0), axis(1));
  }
};
TENON_PLUGIN(TrtBicubicInterpolate);

}  // namespace tenon::plugins::TENON_TARGET
