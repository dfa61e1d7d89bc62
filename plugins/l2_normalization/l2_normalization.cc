// Normalize_TRT 1: rows brought to length 1, as SSD and ParseNet have it.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// What is normalised: (N, C, plane), a factor for all channels or for each.
template <class E> struct Normalized {
  const E* x;
  E* y;
  const float* weights;
  int64_t channels, plane, weight_count;
  float epsilon;

  TENON_HD float square(int64_t i) const {
    return static_cast<float>(x[i]) * static_cast<float>(x[i]);
  }
  TENON_HD float factor(float squares) const { return 1 / sqrtf(squares + epsilon); }
  TENON_HD void put(int64_t i, float factor) const {
    const float weight = weights[weight_count == 1 ? 0 : i / plane % channels];
    y[i] = static_cast<E>(static_cast<float>(x[i]) * factor * weight);
  }
};

template <class E> struct NormalizeImage : Normalized<E> {
  TENON_DEVICE void operator()(const Team& team, int64_t image) const {
    const int64_t size = this->channels * this->plane, first = image * size;
    const float factor =
        this->factor(team.sum(size, [&](int64_t i) { return Normalized<E>::square(first + i); }));
    team.each(size, [&](int64_t i) { Normalized<E>::put(first + i, factor); });
  }
};

template <class E> struct NormalizePixels : Normalized<E> {
  TENON_HD void operator()(int64_t image, int64_t pixel, int64_t count) const {
    const int64_t first = image * this->channels * this->plane + pixel;
    float factors[kSpan];
    for (int64_t i = 0; i < count; ++i) factors[i] = 0;
    for (int64_t c = 0; c < this->channels; ++c) {
      const InputSpan<E> from(this->x + first + c * this->plane, count);
      for (int64_t i = 0; i < count; ++i) factors[i] += from[i] * from[i];
    }
    for (int64_t i = 0; i < count; ++i) factors[i] = this->factor(factors[i]);
    for (int64_t c = 0; c < this->channels; ++c) {
      const int64_t at = first + c * this->plane;
      const float weight = this->weights[this->weight_count == 1 ? 0 : c];
      const InputSpan<E> from(this->x + at, count);
      const OutputSpan<E> to(this->y + at);
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] * factors[i] * weight;
      to.store(count);
    }
  }
};

struct L2Normalization {
  std::vector<float> weights;
  bool across_spatial = false, channel_shared = false;
  float epsilon = 1e-10f;
  int32_t weight_count = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("weights", &L2Normalization::weights)
          .required()
          .says("factors: one, or one for each channel"),
      attribute("acrossSpatial", &L2Normalization::across_spatial)
          .says("1: an image is one row; 0: each of its pixels is"),
      attribute("channelShared", &L2Normalization::channel_shared).says("1: there is one weight"),
      attribute("eps", &L2Normalization::epsilon).says("is added to the sum of squares"),
      attribute("nbWeights", &L2Normalization::weight_count).says("has no effect")};
  static constexpr Spec spec{
      .name = "Normalize_TRT",
      .inputs = {{"x", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "x / sqrt(sum of squares + eps) * weight for x (N, C, H, W), where the sum is over the "
          "channels of a pixel, or over an image.",
      .differs = "Images do not mix, and eps is added in both cases. float16 and bfloat16."};

  void check(std::span<const Shape> in) const {
    require_shape("x", in[0], "N, C, H, W");
    require_elements("weights", weights.size(), channel_shared ? 1 : static_cast<size_t>(in[0][1]));
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    return weights.size() * sizeof(float);
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const auto count = static_cast<int64_t>(weights.size());
    const float* at =
        device.constants(weights.data(), count, static_cast<float*>(device.workspace));
    const int64_t plane = x.shape[2] * x.shape[3];
    const Normalized<E> all{x.data, y.data, at, x.shape[1], plane, count, epsilon};
    if (across_spatial)
      device.parallel_rows(x.shape[0], NormalizeImage<E>{all});
    else
      device.parallel_spans(x.shape[0], plane, NormalizePixels<E>{all});
  }
};
TENON_PLUGIN(L2Normalization);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
