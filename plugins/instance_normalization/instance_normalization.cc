// Instance normalisation under its names: every (n, c) of x (N, C, ...) with 1 to 6 more dimensions
// has mean 0 and variance 1, then a scale and a bias per channel. As
// torch.nn.functional.instance_norm.
//
// - TRTInstanceNormalization 1 (MMDeploy): x, scale, bias; scale and bias are always float32.
// - MMCVInstanceNormalization 1 (MMCV): the same with scale and bias of the type of x.
// - InstanceNormalization_TRT 1, 2, 3 (TensorRT): scales and bias are attributes; `relu` 1
// multiplies
//   negative results by `alpha`.
// - InstanceNorm 1: no scale, no bias.
//
// MMDeploy's plugin leaves out the last axis of volumes, and can give NaNs for large means.
#include <tenon/kernels/normalization.h>
#include <tenon/kernels/workspace.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

void check_channels(const Shape& x, int64_t scales, int64_t biases) {
  if (x.rank() < 3)
    throw std::invalid_argument("x must have at least 3 dimensions (N, C, ...), found "
                                + std::to_string(x.rank()));
  if (scales != x[1] || biases != x[1])
    throw std::invalid_argument("x has " + std::to_string(x[1])
                                + " channels; scale and bias must have as many elements, found "
                                + std::to_string(scales) + " and " + std::to_string(biases));
}

// device.workspace begins with kNormalizationWorkspace bytes.
template <class E, class P>
void normalize_instances(const Device& device, Tensor<const E> x, Tensor<E> y, const P* scale,
                         const P* bias, const kernels::NormalizationOptions& options) {
  const int64_t channels = x.shape[1];
  int64_t inner = 1;
  for (int axis = 2; axis < x.shape.rank(); ++axis) inner *= x.shape[axis];
  kernels::normalize(device, kernels::Elements<E>{x.data}, y.data, scale, bias,
                     {x.shape[0] * channels, 1, inner, channels}, options, device.workspace);
}

// Scale and bias are inputs.
struct WithInputs {
  float epsilon = 1e-5f;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{attribute("epsilon", &WithInputs::epsilon)};

  void check(std::span<const Shape> in) const {
    check_channels(in[0], in[1].volume(), in[2].volume());
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    return kernels::kNormalizationWorkspace;
  }
  template <class E, class P>
  void run(const Device& device, Tensor<const E> x, Tensor<const P> scale, Tensor<const P> bias,
           Tensor<E> y) const {
    normalize_instances(device, x, y, scale.data, bias.data, {.epsilon = epsilon});
  }
};

constexpr const char* kText =
    "Every channel of (N, C, ...) with mean 0 and variance 1, as "
    "torch.nn.functional.instance_norm.";
constexpr const char* kDiffers =
    "Volumes are normalised over all their axes. Large means and "
    "channels of one value are exact.";

struct TrtInstanceNormalization : WithInputs {
  static constexpr Spec spec{.name = "TRTInstanceNormalization",
                             .inputs = {{"x", kT}, {"scale", kFloat}, {"bias", kFloat}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text = kText,
                             .differs = kDiffers};
};
TENON_PLUGIN(TrtInstanceNormalization);

struct MmcvInstanceNormalization : WithInputs {
  static constexpr Spec spec{.name = "MMCVInstanceNormalization",
                             .inputs = {{"x", kT}, {"scale", kT}, {"bias", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text = kText,
                             .differs = kDiffers};
};
TENON_PLUGIN(MmcvInstanceNormalization);

// Scale and bias are attributes.
struct WithAttributes {
  float epsilon = 1e-5f;
  std::vector<float> scales, bias;
  bool relu = false;
  float alpha = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("epsilon", &WithAttributes::epsilon),
      attribute("scales", &WithAttributes::scales).required(),
      attribute("bias", &WithAttributes::bias).required(),
      attribute("relu", &WithAttributes::relu).says("1: negative results are multiplied by alpha"),
      attribute("alpha", &WithAttributes::alpha),
  };

  void check(std::span<const Shape> in) const {
    check_channels(in[0], static_cast<int64_t>(scales.size()), static_cast<int64_t>(bias.size()));
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    kernels::Carver carver;
    carver.array<char>(kernels::kNormalizationWorkspace);
    carver.array<float>(static_cast<int64_t>(scales.size() + bias.size()));
    return carver.bytes();
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const auto channels = static_cast<int64_t>(scales.size());
    kernels::Carver carver(device.workspace);
    carver.array<char>(kernels::kNormalizationWorkspace);
    auto* const copies = carver.array<float>(2 * channels);
    const float* scale = device.constants(scales.data(), channels, copies);
    const float* offset = device.constants(bias.data(), channels, copies + channels);
    normalize_instances(device, x, y, scale, offset, {epsilon, relu ? alpha : 1});
  }
};

struct InstanceNormalizationTrt1 : WithAttributes {
  static constexpr Spec spec{.name = "InstanceNormalization_TRT",
                             .version = "1",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text = kText,
                             .differs = kDiffers};
};
TENON_PLUGIN(InstanceNormalizationTrt1);

struct InstanceNormalizationTrt2 : WithAttributes {
  static constexpr Spec spec =
      renamed(InstanceNormalizationTrt1::spec, "InstanceNormalization_TRT", "2");
};
TENON_PLUGIN(InstanceNormalizationTrt2);

struct InstanceNormalizationTrt3 : WithAttributes {
  static constexpr Spec spec{.name = "InstanceNormalization_TRT",
                             .version = "3",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .text = kText,
                             .differs = kDiffers};
};
TENON_PLUGIN(InstanceNormalizationTrt3);

struct InstanceNorm {
  float epsilon = 1e-5f;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{attribute("epsilon", &InstanceNorm::epsilon)};
  static constexpr Spec spec{.name = "InstanceNorm",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text = kText};

  void check(std::span<const Shape> in) const { check_channels(in[0], in[0][1], in[0][1]); }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    return kernels::kNormalizationWorkspace;
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const float* none = nullptr;
    normalize_instances(device, x, y, none, none, {.epsilon = epsilon});
  }
};
TENON_PLUGIN(InstanceNorm);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
