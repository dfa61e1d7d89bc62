// Layers that TensorRT 8.5 has for Stable Diffusion: SplitGeLU and SeqLen2Spatial 1.
#include <tenon/kernels/elementary.h>
#include <tenon/kernels/pixels.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

template <class E> struct GatedGelu {
  const E* x;
  E* y;
  int64_t half;  // elements of a half

  TENON_HD void operator()(int64_t row, int64_t first, int64_t count) const {
    const E* const from = x + row * 2 * half + first;
    const InputSpan<E> value(from, count), gate(from + half, count);
    const OutputSpan<E> to(y + row * half + first);
    for (int64_t i = 0; i < count; ++i) to[i] = value[i] * kernels::gelu(gate[i]);
    to.store(count);
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
    const int64_t half = s.n * s.inner;
    device.parallel_spans(s.outer, half, GatedGelu<E>{x.data, y.data, half});
  }
};
TENON_PLUGIN(SplitGelu);

#if defined(__CUDACC__)

template <class E> struct AddedToken {
  const E *x, *bias, *residual;
  E* y;
  int64_t channels, tokens;
  TENON_HD void operator()(int64_t row, int64_t token) const {
    const int64_t channel = row % channels;
    const int64_t from = (row / channels * tokens + token) * channels + channel;
    y[row * tokens + token] =
        static_cast<E>(static_cast<float>(x[from]) + static_cast<float>(bias[channel])
                       + static_cast<float>(residual[from]));
  }
};

#else

// Sums of some tokens and channels, which are transposed when they are there.
template <class E> struct AddedTile {
  static constexpr int64_t kTokens = kernels::kTilePixels, kChannels = kernels::kTileChannels;

  const E *x, *bias, *residual;
  E* y;
  int64_t channels, tokens;

  void operator()(int64_t image, int64_t token) const {
    const int64_t count = std::min(kTokens, tokens - token);
    float sums[kTokens * kChannels];
    for (int64_t c = 0; c < channels; c += kChannels) {
      const int64_t width = std::min(kChannels, channels - c);
      const InputSpan<E> shift(bias + c, width);
      for (int64_t t = 0; t < count; ++t) {
        const int64_t at = (image * tokens + token + t) * channels + c;
        const InputSpan<E> from(x + at, width), other(residual + at, width);
        for (int64_t i = 0; i < width; ++i) sums[t * kChannels + i] = from[i] + shift[i] + other[i];
      }
      kernels::pixels_to_planes(sums, kChannels, count, width,
                                y + (image * channels + c) * tokens + token, tokens);
    }
  }
};

#endif

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
    const int64_t images = x.shape[0], tokens = x.shape[1], channels = x.shape[2];
#if defined(__CUDACC__)
    device.parallel_grid(images * channels, tokens,
                         AddedToken<E>{x.data, bias.data, residual.data, y.data, channels, tokens});
#else
    const AddedTile<E> tile{x.data, bias.data, residual.data, y.data, channels, tokens};
    const int64_t tiles = (tokens + tile.kTokens - 1) / tile.kTokens;
    device.parallel_ranges(images * tiles, 1, [&](int64_t begin, int64_t end) {
      with_wide_vectors([&, begin, end](auto) {
        for (int64_t i = begin; i < end; ++i) tile(i / tiles, i % tiles * tile.kTokens);
      });
    });
#endif
  }
};
TENON_PLUGIN(SeqLen2Spatial);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
