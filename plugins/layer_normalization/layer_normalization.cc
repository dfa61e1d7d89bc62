// Layer normalisation: over the last axes of x, as many as gamma has without leading ones, mean 0
// and variance 1, then gamma and beta by element. As torch.nn.functional.layer_norm.
//
// - LayerNorm 1: x, gamma, beta. TensorRT 8.5 and LitLeo's tutorial have plugins of this name with
//   the same inputs; `epsilon` is TensorRT's.
// - SkipLayerNormV1 1 (LitLeo): x, skip, gamma, beta; normalises x + skip.
// - SkipLayerNormV2 1 (LitLeo): the same, and x + skip is the second output.
#include <tenon/kernels/normalization.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

void check_parameters(const Shape& x, const Shape& gamma, const Shape& beta) {
  int first = 0;
  while (first + 1 < gamma.rank() && gamma[first] == 1) ++first;
  bool fits = gamma.rank() > 0 && gamma.volume() == beta.volume() && x.rank() > 0
              && gamma.rank() - first <= x.rank();
  for (int axis = first; fits && axis < gamma.rank(); ++axis)
    fits = gamma[axis] == x[x.rank() - gamma.rank() + axis];
  if (!fits)
    throw std::invalid_argument("x is " + text_of(x)
                                + "; gamma and beta must have the shape of its last axes, found "
                                + text_of(gamma) + " and " + text_of(beta));
}

template <class Source, class E>
void normalize_layers(const Device& device, const Source& x, const Shape& shape,
                      Tensor<const E> gamma, Tensor<const E> beta, E* y, float epsilon) {
  const int64_t length = gamma.shape.volume();
  if (length == 0) return;
  kernels::normalize(device, x, y, gamma.data, beta.data, {shape.volume() / length, length, 1, 1},
                     {.epsilon = epsilon});
}

constexpr const char* kDiffers =
    "float16, where the exact sum is normalised and not the rounded "
    "one, and gammas of several dimensions.";

struct LayerNorm {
  float epsilon = 1e-5f;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{attribute("epsilon", &LayerNorm::epsilon)};
  static constexpr Spec spec{.name = "LayerNorm",
                             .inputs = {{"x", kT}, {"gamma", kT}, {"beta", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "The last axes, as many as gamma has, with mean 0 and variance 1, "
                                 "as torch.nn.functional.layer_norm.",
                             .differs = kDiffers};

  void check(std::span<const Shape> in) const { check_parameters(in[0], in[1], in[2]); }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> gamma, Tensor<const E> beta,
           Tensor<E> y) const {
    normalize_layers(device, kernels::Elements<E>{x.data}, x.shape, gamma, beta, y.data, epsilon);
  }
};
TENON_PLUGIN(LayerNorm);

struct SkipLayerNorm {
  float epsilon = 1e-5f;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{attribute("epsilon", &SkipLayerNorm::epsilon)};

  void check(std::span<const Shape> in) const {
    if (in[0].rank() != in[1].rank() || !std::equal(in[0].d, in[0].d + in[0].rank(), in[1].d))
      throw std::invalid_argument("x and skip must have one shape, found " + text_of(in[0])
                                  + " and " + text_of(in[1]));
    check_parameters(in[0], in[2], in[3]);
  }
};

struct SkipLayerNormV1 : SkipLayerNorm {
  static constexpr Spec spec{.name = "SkipLayerNormV1",
                             .inputs = {{"x", kT}, {"skip", kT}, {"gamma", kT}, {"beta", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text = "LayerNorm of x + skip.",
                             .differs = kDiffers};
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> skip, Tensor<const E> gamma,
           Tensor<const E> beta, Tensor<E> y) const {
    normalize_layers(device, kernels::SumOfElements<E>{x.data, skip.data, nullptr}, x.shape, gamma,
                     beta, y.data, epsilon);
  }
};
TENON_PLUGIN(SkipLayerNormV1);

struct SkipLayerNormV2 : SkipLayerNorm {
  static constexpr Spec spec{.name = "SkipLayerNormV2",
                             .inputs = {{"x", kT}, {"skip", kT}, {"gamma", kT}, {"beta", kT}},
                             .outputs = {{"y", kT}, {"sum", kT}},
                             .protocol = Protocol::kV2,
                             .text = "LayerNorm of x + skip, and x + skip.",
                             .differs = kDiffers};
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> skip, Tensor<const E> gamma,
           Tensor<const E> beta, Tensor<E> y, Tensor<E> sum) const {
    normalize_layers(device, kernels::SumOfElements<E>{x.data, skip.data, sum.data}, x.shape, gamma,
                     beta, y.data, epsilon);
  }
};
TENON_PLUGIN(SkipLayerNormV2);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
