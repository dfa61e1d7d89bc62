// Features of some points of a cloud, as mmcv.ops has them: MMCVThreeInterpolate, MMCVGroupPoints
// and MMCVGatherPoints 1.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

using Floats = Types<float, Half, BFloat16>;

// Features (B, C, N) at indices (B, picked), which come in groups that are summed up by weights;
// without weights a group is one. An index outside reads nothing on a GPU.
template <class E> struct PickFeatures {
  const E* features;
  const int32_t* indices;
  const E* weights;  // or null
  E* y;
  int64_t channels, count, results, group;

  TENON_HD void operator()(int64_t i) const {
    const int64_t result = i % results, row = i / results, cloud = row / channels;
    float sum = 0;
    for (int64_t g = 0; g < group; ++g) {
      const int64_t at = (cloud * results + result) * group + g, index = indices[at];
      if (index < 0 || index >= count) continue;
      sum += static_cast<float>(features[row * count + index])
             * (weights != nullptr ? static_cast<float>(weights[at]) : 1.f);
    }
    y[i] = static_cast<E>(sum);
  }
};

template <class E>
void pick(const Device& device, const Tensor<const E>& features,
          const Tensor<const int32_t>& indices, const E* weights, int64_t group,
          const Tensor<E>& y) {
  const Shape& f = features.shape;
#if !defined(__CUDACC__)
  for (int64_t i = 0; i < indices.shape.volume(); ++i)
    if (indices.data[i] < 0 || indices.data[i] >= f[2])
      throw std::invalid_argument("index " + std::to_string(i) + " is "
                                  + std::to_string(indices.data[i]) + "; there are "
                                  + std::to_string(f[2]) + " points");
#endif
  if (y.shape.volume() == 0) return;
  device.parallel_for(y.shape.volume(),
                      PickFeatures<E>{features.data, indices.data, weights, y.data, f[1], f[2],
                                      y.shape.volume() / (f[0] * f[1]), group});
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
    pick<E>(device, features, indices, weights.data, 3, y);
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
    pick<E>(device, features, indices, nullptr, 1, y);
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
    pick<E>(device, features, indices, nullptr, 1, y);
  }
};
TENON_PLUGIN(GroupPoints);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
