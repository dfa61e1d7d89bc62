// Layers that TensorRT 8.5 has for Stable Diffusion: SplitGeLU and SeqLen2Spatial 1.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

template <class E> struct GatedGelu {
  const E* x;
  E* y;
  int64_t half, inner;  // features of a half, and elements of one
  TENON_HD void operator()(int64_t i) const {
    const int64_t row = i / (half * inner), at = i % (half * inner);
    const E* const from = x + row * 2 * half * inner + at;
    const auto value = static_cast<float>(from[0]), gate = static_cast<float>(from[half * inner]);
    y[i] = static_cast<E>(value * gate * 0.5f * (1 + erff(gate * 0.70710678f)));
  }
};

struct SplitGelu {
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec{.name = "SplitGeLU",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "The first half of the features of x (B, S, 2 * E) times the "
                                 "torch.nn.functional.gelu of the second.",
                             .differs = "Any E. bfloat16."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() < 3)
      throw std::invalid_argument("x must have 3 dimensions (B, S, 2 * E) or more, found "
                                  + std::to_string(in[0].size()));
    out[0] = in[0];
    out[0][2] = in[0][2] / 2;
  }
  void check(std::span<const Shape> in) const {
    if (in[0][2] % 2 != 0)
      throw std::invalid_argument("x must have an even number of features, found "
                                  + text_of(in[0]));
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const Split s = y.shape.split(2);
    device.parallel_for(y.shape.volume(), GatedGelu<E>{x.data, y.data, s.n, s.inner});
  }
};
TENON_PLUGIN(SplitGelu);

template <class E> struct AddedToken {
  const E *x, *bias, *residual;
  E* y;
  int64_t channels, tokens;
  TENON_HD void operator()(int64_t i) const {
    const int64_t token = i % tokens, channel = i / tokens % channels;
    const int64_t from = (i / (tokens * channels) * tokens + token) * channels + channel;
    y[i] = static_cast<E>(static_cast<float>(x[from]) + static_cast<float>(bias[channel])
                          + static_cast<float>(residual[from]));
  }
};

struct SeqLen2Spatial {
  using T = Types<float, Half, BFloat16>;
  static constexpr Spec spec{
      .name = "SeqLen2Spatial",
      .inputs = {{"x", kT}, {"bias", kT}, {"residual", kT}, {"size", kAny}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "x + bias + residual, with x and residual (B, H * W, C), as an image (B, C, H, W). That "
          "is the shape of the last input, whose elements have no meaning.",
      .differs = "Any C. The image has its channels first in memory. bfloat16."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("x", in[0], "B, H * W, C");
    require_axes("size", in[3], "B, C, H, W");
    out[0] = in[3];
  }
  void check(std::span<const Shape> in) const {
    const Shape &x = in[0], &residual = in[2], &size = in[3];
    const bool fits = residual.rank() == 3 && std::equal(x.d, x.d + 3, residual.d)
                      && size[0] == x[0] && size[1] == x[2] && size[2] * size[3] == x[1]
                      && in[1].volume() == x[2];
    if (!fits)
      throw std::invalid_argument(
          "x " + text_of(x) + ", bias " + text_of(in[1]) + ", residual " + text_of(residual)
          + " and size " + text_of(size)
          + " do not fit; expected (B, H * W, C), (C), (B, H * W, C) and (B, C, H, W)");
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> bias, Tensor<const E> residual,
           Tensor<const void>, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(), AddedToken<E>{x.data, bias.data, residual.data, y.data,
                                                        x.shape[2], x.shape[1]});
  }
};
TENON_PLUGIN(SeqLen2Spatial);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
