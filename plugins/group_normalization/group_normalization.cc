// Group normalisation: the channels of x (N, C, ...) in num_groups groups, each of which has mean 0
// and variance 1, then a scale and a bias per channel. As torch.nn.functional.group_norm.
//
// - GroupNormalizationPlugin 1 (TensorRT) and GroupNormPluginDynamic 1 (amirstan_plugin).
#include <tenon/kernels/normalization.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

struct GroupNormalization {
  int32_t num_groups = 0;
  float eps = 1e-5f;

  using T = Types<float, Half>;
  static constexpr auto attributes =
      std::tuple{attribute("num_groups", &GroupNormalization::num_groups).required(),
                 attribute("eps", &GroupNormalization::eps)};

  void check(std::span<const Shape> in) const {
    if (in[0].rank() < 2)
      throw std::invalid_argument("x must have at least 2 dimensions (N, C, ...), found "
                                  + std::to_string(in[0].rank()));
    const int64_t channels = in[0][1];
    if (num_groups < 1 || channels % num_groups != 0)
      throw std::invalid_argument("x has " + std::to_string(channels)
                                  + " channels, which num_groups = " + std::to_string(num_groups)
                                  + " does not divide");
    if (in[1].volume() != channels || in[2].volume() != channels)
      throw std::invalid_argument("x has " + std::to_string(channels)
                                  + " channels; scale and bias must have as many elements, found "
                                  + std::to_string(in[1].volume()) + " and "
                                  + std::to_string(in[2].volume()));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> scale, Tensor<const E> bias,
           Tensor<E> y) const {
    int64_t inner = 1;
    for (int axis = 2; axis < x.shape.rank(); ++axis) inner *= x.shape[axis];
    kernels::normalize(device, kernels::Elements<E>{x.data}, y.data, scale.data, bias.data,
                       {x.shape[0] * num_groups, x.shape[1] / num_groups, inner, num_groups},
                       {.epsilon = eps});
  }
};

struct GroupNormalizationPlugin : GroupNormalization {
  static constexpr Spec spec{.name = "GroupNormalizationPlugin",
                             .inputs = {{"x", kT}, {"scale", kT}, {"bias", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "Groups of channels of (N, C, ...) with mean 0 and variance 1, "
                                 "as torch.nn.functional.group_norm.",
                             .differs = "float16, and any number of channels per group."};
};
TENON_PLUGIN(GroupNormalizationPlugin);

struct GroupNormPluginDynamic : GroupNormalization {
  static constexpr Spec spec = renamed(GroupNormalizationPlugin::spec, "GroupNormPluginDynamic");
};
TENON_PLUGIN(GroupNormPluginDynamic);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
