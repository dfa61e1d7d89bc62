// DisentangledAttention_TRT 1 and 2 (TensorRT): scores of DeBERTa's attention.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// One score of DeBERTa's disentangled attention. Distances beyond half of the span lie in buckets
// that grow with their logarithm, as in transformers' make_log_bucket_position.
// The bucket of each distance from key to query, from 1 - size to size - 1.
struct DistanceBucket {
  int32_t* buckets;
  int64_t size, positions, span;

  TENON_HD void operator()(int64_t i) const {
    const int64_t distance = i - (size - 1);
    const int64_t middle = span / 2, far = distance < 0 ? -distance : distance;
    int64_t at = distance;
    if (far > middle && middle > 0) {
      // A little less than one, so that what is whole but for rounding is not rounded up.
      constexpr float kJustBelow = 1 - 1e-7f;
      const auto half = static_cast<float>(middle);
      const float step = (half - 1) / logf(static_cast<float>(positions - 1) / half) * kJustBelow;
      at = static_cast<int64_t>(ceilf(logf(static_cast<float>(far) / half) * step)) + middle;
      at = distance < 0 ? -at : at;
    }
    at += span;
    buckets[i] = static_cast<int32_t>(at < 0 ? 0 : at < positions ? at : positions - 1);
  }
};

// Scores of one query.
template <class E> struct DisentangledScore {
  const E *content, *to_position, *from_position;
  const int32_t* buckets;
  E* y;
  int64_t size, positions;
  float factor;

  TENON_HD void operator()(int64_t row, int64_t key) const {
    const int64_t query = row % size, i = row * size + key;
    const int64_t at = buckets[size - 1 + query - key];
    const E* const from = from_position + (row - query) * positions;
    const float score = static_cast<float>(content[i])
                        + static_cast<float>(to_position[row * positions + at])
                        + static_cast<float>(from[key * positions + at]);
    y[i] = static_cast<E>(score * factor);
  }
};

struct DisentangledAttention {
  int32_t span = 0;
  float factor = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("span", &DisentangledAttention::span)
                     .required()
                     .says("buckets of distances, on either side"),
                 attribute("factor", &DisentangledAttention::factor).required().says("of the sum")};
  static constexpr Spec spec{
      .name = "DisentangledAttention_TRT",
      .version = "2",
      .inputs = {{"c2c", kT}, {"c2p", kT}, {"p2c", kT}},
      .outputs = {{"scores", kT}},
      .text =
          "DeBERTa's scores (B * heads, S, S): content to content, plus content to position (B * "
          "heads, S, 2 * span) and position to content at the bucket of the distance, times a "
          "factor.",
      .differs = "Sums are float. Any S. bfloat16; no int8, whose scales a plugin does not know."};

  void prepare() const { require_at_least("span", span, 1); }
  void check(std::span<const Shape> in) const {
    const Shape& content = in[0];
    bool fits = content.rank() == 3 && content[1] == content[2];
    for (size_t i = 1; i < 3; ++i)
      fits = fits && in[i].rank() == 3 && in[i][0] == content[0] && in[i][1] == content[1]
             && in[i][2] == 2 * int64_t{span};
    if (!fits)
      throw std::invalid_argument("c2c " + text_of(in[0]) + ", c2p " + text_of(in[1]) + " and p2c "
                                  + text_of(in[2])
                                  + " do not fit; expected (B, S, S) and twice (B, S, "
                                  + std::to_string(2 * int64_t{span}) + ")");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return static_cast<size_t>(2 * in[0][1]) * sizeof(int32_t);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> content, Tensor<const E> to, Tensor<const E> from,
           Tensor<E> y) const {
    const int64_t size = content.shape[1], positions = 2 * int64_t{span};
    auto* const buckets = static_cast<int32_t*>(device.workspace);
    device.parallel_for(2 * size - 1, DistanceBucket{buckets, size, positions, span});
    device.parallel_grid(content.shape[0] * size, size,
                         DisentangledScore<E>{content.data, to.data, from.data, buckets, y.data,
                                              size, positions, factor});
  }
};
TENON_PLUGIN(DisentangledAttention);

struct DisentangledAttentionV1 : DisentangledAttention {
  static constexpr Spec spec{.name = "DisentangledAttention_TRT",
                             .inputs = DisentangledAttention::spec.inputs,
                             .outputs = DisentangledAttention::spec.outputs,
                             .protocol = Protocol::kV2,
                             .text = DisentangledAttention::spec.text,
                             .differs = DisentangledAttention::spec.differs};
};
TENON_PLUGIN(DisentangledAttentionV1);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
