// Multi-scale deformable attention: MMCVMultiScaleDeformableAttention gives (N, queries, heads *
// channels), MultiscaleDeformableAttnPlugin_TRT the same with heads and channels apart.
#include <tenon/kernels/deformable_attention.h>
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
  using T = Types<float, Half>;
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

}  // namespace tenon::plugins::TENON_TARGET
