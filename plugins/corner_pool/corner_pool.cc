// MMCVCornerPool 1: the largest element of x (N, C, H, W) from here to a border. As mmcv.ops
// CornerPool, which is torch.cummax of x flipped so that the border comes first.
#include <tenon/kernels/running_extremum.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// Where the maximum moves to: kTop's is of all rows below, and so on.
enum class Corner { kTop = 0, kBottom = 1, kLeft = 2, kRight = 3 };

struct MmcvCornerPool {
  Corner mode = Corner::kTop;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{attribute("mode", &MmcvCornerPool::mode,
                                                          {{"top", Corner::kTop},
                                                           {"bottom", Corner::kBottom},
                                                           {"left", Corner::kLeft},
                                                           {"right", Corner::kRight}})
                                                    .required()};
  static constexpr Spec spec{
      .name = "MMCVCornerPool",
      .inputs = {{"x", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "The largest element of (N, C, H, W) from here down (top), up (bottom), to the right "
          "(left) or to the left (right), as mmcv.ops.CornerPool.",
      .differs = "float16; NaNs stay, as in PyTorch."};

  void check(std::span<const Shape> in) const {
    if (in[0].rank() != 4)
      throw std::invalid_argument("x must have 4 dimensions (N, C, H, W), found "
                                  + std::to_string(in[0].rank()));
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const bool is_vertical = mode == Corner::kTop || mode == Corner::kBottom;
    kernels::running_extremum<E>(device, x.data, y.data, nullptr,
                                 x.shape.split(is_vertical ? 2 : 3),
                                 {.backwards = mode == Corner::kTop || mode == Corner::kLeft});
  }
};
TENON_PLUGIN(MmcvCornerPool);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
