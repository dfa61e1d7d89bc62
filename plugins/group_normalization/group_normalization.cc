// Group normalisation: the channels of x (N, C, ...) in num_groups groups, each of which has mean 0
// and variance 1, then a scale and a bias per channel. As torch.nn.functional.group_norm.
//
// - GroupNormalizationPlugin 1 (TensorRT) and GroupNormPluginDynamic 1 (amirstan_plugin);
// - GroupNorm 1 (TensorRT 8.5, for Stable Diffusion): 32 groups, and x * sigmoid(x) behind it.
#include <tenon/kernels/elementary.h>
#include <tenon/kernels/normalization.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

struct GroupNormalization {
  int32_t num_groups = 0;
  float eps = 1e-5f;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("num_groups", &GroupNormalization::num_groups).required(),
                 attribute("eps", &GroupNormalization::eps)};

  void check(std::span<const Shape> in) const {
    if (in[0].rank() < 2)
      throw std::invalid_argument("x must have at least 2 dimensions (N, C, ...), found "
                                  + std::to_string(in[0].rank()));
    const int64_t channels = in[0][1];
    if (num_groups < 1 || channels % num_groups != 0)
      throw std::invalid_argument("x has " + std::to_string(channels) + " channels, which "
                                  + std::to_string(num_groups) + " groups do not divide");
    if (in[1].volume() != channels || in[2].volume() != channels)
      throw std::invalid_argument("x has " + std::to_string(channels)
                                  + " channels; scale and bias must have as many elements, found "
                                  + std::to_string(in[1].volume()) + " and "
                                  + std::to_string(in[2].volume()));
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    return kernels::kNormalizationWorkspace;
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> scale, Tensor<const E> bias,
           Tensor<E> y) const {
    normalize_groups(device, x, scale.data, bias.data, y);
  }

 protected:
  template <class E, class P>
  void normalize_groups(const Device& device, const Tensor<const E>& x, const P* scale,
                        const P* bias, const Tensor<E>& y) const {
    int64_t inner = 1;
    for (int axis = 2; axis < x.shape.rank(); ++axis) inner *= x.shape[axis];
    kernels::normalize(device, kernels::Elements<E>{x.data}, y.data, scale, bias,
                       {x.shape[0] * num_groups, x.shape[1] / num_groups, inner, num_groups},
                       {.epsilon = eps}, device.workspace);
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

template <class E> struct Swish {
  E* y;
  TENON_HD void operator()(int64_t, int64_t first, int64_t count) const {
    const InputSpan<E> x(y + first, count);
    const OutputSpan<E> to(y + first);
    for (int64_t i = 0; i < count; ++i) to[i] = kernels::silu(x[i]);
    to.store(count);
  }
};

struct GroupNorm : GroupNormalization {
  bool has_swish = false;

  GroupNorm() { num_groups = 32; }
  static constexpr auto attributes = std::tuple{
      attribute("epsilon", &GroupNorm::eps),
      attribute("bSwish", &GroupNorm::has_swish).says("1: x * sigmoid(x) of the result")};
  static constexpr Spec spec{
      .name = "GroupNorm",
      .inputs = {{"x", kT}, {"gamma", kFloat}, {"beta", kFloat}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "32 groups of channels of (N, C, ...) with mean 0 and variance 1, as "
          "torch.nn.functional.group_norm, and with bSwish x * sigmoid(x) behind it.",
      .differs =
          "Any number of channels that 32 divides. Sums are exact for large means. float32."};

  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const float> gamma,
           Tensor<const float> beta, Tensor<E> y) const {
    normalize_groups(device, x, gamma.data, beta.data, y);
    if (has_swish) device.parallel_spans(1, y.shape.volume(), Swish<E>{y.data});
  }
};
TENON_PLUGIN(GroupNorm);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
