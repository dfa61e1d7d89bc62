// Multi-scale deformable attention: MMCVMultiScaleDeformableAttention gives (N, queries, heads *
// channels), MultiscaleDeformableAttnPlugin_TRT the same with heads and channels apart, and
// MultiScaleDeformableAttnTRT and its second name (BEVFormer_tensorrt) from what the query says.
#include <tenon/kernels/deformable_attention.h>
#include <tenon/kernels/float_copies.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

constexpr Ports kInputs = {{"value", kT},
                           {"value_spatial_shapes", kU},
                           {"value_level_start_index", kU},
                           {"sampling_locations", kT},
                           {"attention_weights", kT}};
constexpr Ports kOutputs = {{"output", kT}};
constexpr int kRanks[] = {4, 2, 1, 6, 5};

// What both share; the value is (N, elements, heads, channels).
struct DeformableAttention {
  using T = Types<float, Half, BFloat16>;
  using U = Types<int32_t, int64_t>;

  void check_ranks(std::span<const Extents> in) const {
    for (size_t i = 0; i < 5; ++i)
      if (in[i].size() != static_cast<size_t>(kRanks[i]))
        throw std::invalid_argument(std::string(kInputs[i].name) + " must have "
                                    + std::to_string(kRanks[i]) + " dimensions, found "
                                    + std::to_string(in[i].size()));
  }
  void check(std::span<const Shape> in) const {
    const Shape &value = in[0], &levels = in[1], &starts = in[2], &locations = in[3],
                &weights = in[4];
    const auto fits = [](bool is_right, const char* what) {
      if (!is_right) throw std::invalid_argument(what);
    };
    fits(levels[1] == 2 && starts[0] == levels[0],
         "value_spatial_shapes must be (levels, 2) and value_level_start_index (levels)");
    fits(locations[0] == value[0] && locations[2] == value[2] && locations[3] == levels[0]
             && locations[5] == 2,
         "sampling_locations must be (N, queries, heads, levels, points, 2), with N and heads of "
         "the value and levels of value_spatial_shapes");
    for (int i = 0; i < 5; ++i)
      fits(weights[i] == locations[i],
           "attention_weights must have the first five dimensions of sampling_locations");
  }

  template <class E, class I>
  void run(const Device& device, Tensor<const E> value, Tensor<const I> shapes,
           Tensor<const I> starts, Tensor<const E> locations, Tensor<const E> weights,
           Tensor<E> y) const {
    const Shape &v = value.shape, &p = locations.shape;
    deformable_attention<E, I>(
        device, {value.data, shapes.data, starts.data, locations.data, weights.data, y.data, v[0],
                 v[1], v[2], v[3], p[3], p[1], p[4]});
  }
};

}  // namespace

struct MmcvDeformableAttention : DeformableAttention {
  static constexpr Spec spec{
      .name = "MMCVMultiScaleDeformableAttention",
      .inputs = kInputs,
      .outputs = kOutputs,
      .protocol = Protocol::kV2,
      .text =
          "mmcv's multi_scale_deformable_attn: for each query and head the weighted sum of "
          "bilinear samples of all levels. Locations are x, y from 0 to 1."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    check_ranks(in);
    out[0] = {in[0][0], in[3][1], in[0][2] * in[0][3]};
  }
};
TENON_PLUGIN(MmcvDeformableAttention);

struct DeformableAttentionTrt : DeformableAttention {
  static constexpr Spec spec{.name = "MultiscaleDeformableAttnPlugin_TRT",
                             .version = "2",
                             .inputs = kInputs,
                             .outputs = kOutputs,
                             .text = MmcvDeformableAttention::spec.text};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    check_ranks(in);
    out[0] = {in[0][0], in[3][1], in[0][2], in[0][3]};
  }
};
TENON_PLUGIN(DeformableAttentionTrt);

struct DeformableAttentionTrtV1 : DeformableAttentionTrt {
  static constexpr Spec spec{.name = "MultiscaleDeformableAttnPlugin_TRT",
                             .version = "1",
                             .inputs = kInputs,
                             .outputs = kOutputs,
                             .protocol = Protocol::kV2,
                             .text = MmcvDeformableAttention::spec.text};
};
TENON_PLUGIN(DeformableAttentionTrtV1);

namespace {

// Where levels begin. Those that are too large are found later, so that sums wrap around here.
struct LevelStarts {
  const int32_t* shapes;
  int32_t* starts;
  TENON_HD void operator()(int64_t level) const {
    uint32_t sum = 0;
    for (int64_t l = 0; l < 2 * level; l += 2)
      sum += static_cast<uint32_t>(shapes[l]) * static_cast<uint32_t>(shapes[l + 1]);
    starts[level] = static_cast<int32_t>(sum);
  }
};

// Of one query and head: locations are points of reference plus offsets in elements of a level, and
// weights the softmax over all points of all levels.
template <class E> struct QueryPoints {
  const E *reference, *offsets, *logits;
  const int32_t* shapes;
  float *locations, *weights;
  int64_t heads, levels, points, groups;

  TENON_HD void operator()(int64_t i) const {
    const int64_t first = i * levels * points, query = i / heads;
    float largest = -HUGE_VALF, sum = 0;
    for (int64_t p = first; p < first + levels * points; ++p) {
      weights[p] = static_cast<float>(logits[p]);
      largest = weights[p] > largest ? weights[p] : largest;
    }
    for (int64_t p = first; p < first + levels * points; ++p)
      sum += weights[p] = expf(weights[p] - largest);
    for (int64_t p = 0; p < levels * points; ++p) {
      weights[first + p] /= sum;
      const int64_t level = p / points, group = p % points % groups;
      for (int64_t k = 0; k < 2; ++k) {
        const int64_t at = (first + p) * 2 + k;
        const auto extent = static_cast<float>(shapes[level * 2 + 1 - k]);
        locations[at] = static_cast<float>(reference[(query * groups + group) * 2 + k])
                        + static_cast<float>(offsets[at]) / extent;
      }
    }
  }
};

struct QueryDeformableAttention {
  using T = Types<float, Half, BFloat16, Quantized>;
  static constexpr Spec spec{
      .name = "MultiScaleDeformableAttnTRT",
      .inputs = {{"value", kT},
                 {"value_spatial_shapes", kInt32},
                 {"reference_points", kReal},
                 {"sampling_offsets", kT},
                 {"attention_weights", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv's multi_scale_deformable_attn with what leads to its inputs: value (N, elements, "
          "heads, C), reference_points (N, queries, ..., groups * 2) as x, y from 0 to 1, "
          "sampling_offsets (N, queries, heads, levels * points * 2) in elements of their level, "
          "and attention_weights (N, queries, heads, levels * points) before their softmax. The "
          "result is (N, queries, heads, C).",
      .differs =
          "Places, weights and sums are float also in float16. bfloat16; int8 with any number of "
          "channels and points."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    const size_t ranks[] = {4, 2, 3, 4, 4};
    for (size_t i = 0; i < 5; ++i)
      if (i == 2 ? in[i].size() < ranks[i] : in[i].size() != ranks[i])
        throw std::invalid_argument(std::string(spec.inputs[i].name) + " must have "
                                    + std::to_string(ranks[i]) + " dimensions, found "
                                    + std::to_string(in[i].size()));
    out[0] = {in[0][0], in[3][1], in[0][2], in[0][3]};
  }
  void check(std::span<const Shape> in) const {
    const Shape &value = in[0], &levels = in[1], &reference = in[2], &offsets = in[3],
                &weights = in[4];
    const int64_t queries = offsets[1], rows = value[0] * queries;
    bool fits = levels[1] == 2 && offsets[3] == weights[3] * 2;
    for (const Shape& s : {offsets, weights})
      fits = fits && s[0] == value[0] && s[1] == queries && s[2] == value[2];
    fits = fits && reference[0] == value[0] && reference[1] == queries
           && (rows == 0 || reference.volume() % (rows * 2) == 0);
    fits = fits && (levels[0] == 0 || weights[3] % levels[0] == 0);
    if (fits && rows > 0 && levels[0] > 0) {
      const int64_t groups = reference.volume() / (rows * 2);
      fits = groups > 0 && weights[3] / levels[0] % groups == 0;
    }
    if (!fits)
      throw std::invalid_argument(
          "value " + text_of(value) + ", reference_points " + text_of(reference)
          + ", sampling_offsets " + text_of(offsets) + " and attention_weights " + text_of(weights)
          + " do not fit; expected (N, elements, heads, C), (N, queries, ..., groups * 2), (N, queries, "
            "heads, levels * points * 2) and (N, queries, heads, levels * points)");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const {
    Carver carver;
    FloatCopies::reserve(carver, in[0].volume());
    FloatCopies::reserve(carver, out[0].volume());
    carver.array<int32_t>(in[1][0]);
    carver.array<float>(in[3].volume());
    carver.array<float>(in[4].volume());
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> value, Tensor<const int32_t> shapes,
           Tensor<const E> reference, Tensor<const E> offsets, Tensor<const E> logits,
           Tensor<E> y) const {
    Carver carver(device.workspace);
    const FloatCopies copies(device, carver);
    const float* v = copies.of(value.data, value.shape.volume());
    float* const result = copies.result(y.data, y.shape.volume());
    const int64_t levels = shapes.shape[0], queries = offsets.shape[1], heads = value.shape[2];
    const int64_t rows = value.shape[0] * queries;
    if (y.shape.volume() == 0) return;
    auto* const starts = carver.array<int32_t>(levels);
    auto* const locations = carver.array<float>(offsets.shape.volume());
    auto* const weights = carver.array<float>(logits.shape.volume());
    const int64_t points = levels > 0 ? logits.shape[3] / levels : 0;
    device.parallel_for(levels, LevelStarts{shapes.data, starts});
    device.parallel_for(
        rows * heads,
        QueryPoints<E>{reference.data, offsets.data, logits.data, shapes.data, locations, weights,
                       heads, levels, points, reference.shape.volume() / (rows * 2)});
    deformable_attention<float, int32_t>(
        device, {v, shapes.data, starts, locations, weights, result, value.shape[0], value.shape[1],
                 heads, value.shape[3], levels, queries, points});
    copies.store(result, y.data, y.shape.volume());
  }
};
TENON_PLUGIN(QueryDeformableAttention);
TENON_PLUGIN_AS(QueryDeformableAttention, "MultiScaleDeformableAttnTRT2");

}  // namespace

}  // namespace tenon::plugins::TENON_TARGET
