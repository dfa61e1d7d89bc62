// Features of some points of a cloud, as mmcv.ops has them: MMCVThreeInterpolate, MMCVGroupPoints
// and MMCVGatherPoints 1.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

using Floats = Types<float, Half, BFloat16>;

// Features (B, C, N) at indices (B, picked), which come in groups that are summed up by weights;
// without weights a group is one. An index outside reads nothing on a GPU; on the CPU there is
// none.
template <class E, int group> struct PickFeatures {
  const E* features;
  const int32_t* indices;
  const E* weights;  // or null
  E* y;
  int64_t channels, count, results;

  TENON_HD void operator()(int64_t row, int64_t result) const {
    const int64_t first = (row / channels * results + result) * group;
    const E* const from = features + row * count;
    E* const to = y + row * results + result;
    if constexpr (group == 1) {
      *to = is_there(indices[first]) ? from[indices[first]] : static_cast<E>(0.f);
    } else {
      float sum = 0;
      for (int g = 0; g < group; ++g)
        if (is_there(indices[first + g]))
          sum +=
              static_cast<float>(from[indices[first + g]]) * static_cast<float>(weights[first + g]);
      *to = static_cast<E>(sum);
    }
  }

 private:
  TENON_HD bool is_there([[maybe_unused]] int32_t index) const {
#if defined(__CUDACC__)
    return index >= 0 && index < count;
#else
    return true;
#endif
  }
};

template <int group, class E>
void pick(const Device& device, const Tensor<const E>& features,
          const Tensor<const int32_t>& indices, const E* weights, const Tensor<E>& y) {
  const Shape& f = features.shape;
#if !defined(__CUDACC__)
  for (int64_t i = 0; i < indices.shape.volume(); ++i)
    if (indices.data[i] < 0 || indices.data[i] >= f[2])
      throw std::invalid_argument("index " + std::to_string(i) + " is "
                                  + std::to_string(indices.data[i]) + "; there are "
                                  + std::to_string(f[2]) + " points");
#endif
  if (y.shape.volume() == 0) return;
  const int64_t rows = f[0] * f[1], results = y.shape.volume() / rows;
  device.parallel_grid(
      rows, results,
      PickFeatures<E, group>{features.data, indices.data, weights, y.data, f[1], f[2], results});
}

constexpr const char *kFeatures = "B, C, points", *kOne = "B, M", *kThree = "B, N, 3",
                     *kMany = "B, M, K";

// The indices have these axes.
void require_picks(const Shape& features, const Shape& indices, const char* axes) {
  require_shape("features", features, kFeatures);
  require_shape("indices", indices, axes);
  if (features[0] != indices[0])
    throw std::invalid_argument("features and indices must have one batch size, found "
                                + text_of(features) + " and " + text_of(indices));
}

struct ThreeInterpolate {
  using T = Floats;
  static constexpr Spec spec{.name = "MMCVThreeInterpolate",
                             .inputs = {{"features", kT}, {"indices", kInt32}, {"weights", kT}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "mmcv.ops.three_interpolate: sums of three of the features (B, C, "
                                 "M) each, by indices and weights (B, N, 3): (B, C, N).",
                             .differs =
                                 "There is none for TensorRT elsewhere. Indices outside are errors "
                                 "on the CPU. float16 and bfloat16."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("features", in[0], kFeatures);
    require_axes("indices", in[1], kThree);
    out[0] = {in[0][0], in[0][1], in[1][1]};
  }
  void check(std::span<const Shape> in) const {
    require_picks(in[0], in[1], kThree);
    require_shape("weights", in[2], {in[1][0], in[1][1], 3});
  }
  template <class E>
  void run(const Device& device, Tensor<const E> features, Tensor<const int32_t> indices,
           Tensor<const E> weights, Tensor<E> y) const {
    pick<3, E>(device, features, indices, weights.data, y);
  }
};
TENON_PLUGIN(ThreeInterpolate);

struct GatherPoints {
  using T = Floats;
  static constexpr Spec spec{
      .name = "MMCVGatherPoints",
      .inputs = {{"features", kT}, {"indices", kInt32}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text = "mmcv.ops.gather_points: features (B, C, N) at indices (B, M), as (B, C, M).",
      .differs = ThreeInterpolate::spec.differs};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("features", in[0], kFeatures);
    require_axes("indices", in[1], kOne);
    out[0] = {in[0][0], in[0][1], in[1][1]};
  }
  void check(std::span<const Shape> in) const { require_picks(in[0], in[1], kOne); }
  template <class E>
  void run(const Device& device, Tensor<const E> features, Tensor<const int32_t> indices,
           Tensor<E> y) const {
    pick<1, E>(device, features, indices, nullptr, y);
  }
};
TENON_PLUGIN(GatherPoints);

struct GroupPoints {
  using T = Floats;
  static constexpr Spec spec{
      .name = "MMCVGroupPoints",
      .inputs = {{"features", kT}, {"indices", kInt32}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.grouping_operation: features (B, C, N) at indices (B, M, K), as (B, C, M, K).",
      .differs = ThreeInterpolate::spec.differs};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("features", in[0], kFeatures);
    require_axes("indices", in[1], kMany);
    out[0] = {in[0][0], in[0][1], in[1][1], in[1][2]};
  }
  void check(std::span<const Shape> in) const { require_picks(in[0], in[1], kMany); }
  template <class E>
  void run(const Device& device, Tensor<const E> features, Tensor<const int32_t> indices,
           Tensor<E> y) const {
    pick<1, E>(device, features, indices, nullptr, y);
  }
};
TENON_PLUGIN(GroupPoints);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
