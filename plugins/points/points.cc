// Operators on clouds of points, as mmcv.ops has them: MMCVFurthestPointSample, MMCVBallQuery,
// MMCVKNN, MMCVThreeNN, MMCVThreeInterpolate, MMCVGroupPoints and MMCVGatherPoints 1.
#include <tenon/kernels/shape_text.h>
#include <tenon/kernels/workspace.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::text_of;

namespace {

using Floats = Types<float, Half, BFloat16>;
constexpr const char* kNone = "There is none for TensorRT elsewhere. float16 and bfloat16.";

void require_cloud(const char* name, const Shape& points) {
  if (points.rank() != 3 || points[2] != 3)
    throw std::invalid_argument(std::string(name) + " must be (B, points, 3), found "
                                + text_of(points));
}
void require_clouds(const Shape& points, const Shape& centers) {
  require_cloud("points", points);
  require_cloud("centers", centers);
  if (points[0] != centers[0])
    throw std::invalid_argument("points and centers must have one batch size, found "
                                + text_of(points) + " and " + text_of(centers));
}

template <class E> TENON_HD float squared_distance(const E* a, const E* b) {
  float sum = 0;
  for (int k = 0; k < 3; ++k) {
    const float d = static_cast<float>(a[k]) - static_cast<float>(b[k]);
    sum += d * d;
  }
  return sum;
}

// The farther point; of equal ones the first.
struct Farthest {
  float distance;
  int32_t index;
};

template <class E> struct SampleCloud {
  const E* points;
  int32_t* indices;
  float* distances;  // to the nearest sample so far
  int64_t count, samples;

  TENON_DEVICE void operator()(const Team& team, int64_t cloud) const {
    const E* const all = points + cloud * count * 3;
    float* const nearest = distances + cloud * count;
    int32_t* const out = indices + cloud * samples;
    team.each(count, [&](int64_t i) { nearest[i] = HUGE_VALF; });
    int32_t last = 0;
    for (int64_t s = 0; s < samples; ++s) {
      team.each(1, [&](int64_t) { out[s] = last; });
      team.each(count, [&](int64_t i) {
        const float d = squared_distance(all + i * 3, all + int64_t{last} * 3);
        nearest[i] = d < nearest[i] ? d : nearest[i];
      });
#if defined(__CUDA_ARCH__)
      __syncthreads();
#endif
      last = team.reduce(
                     count, Farthest{-1, INT32_MAX},
                     [](const Farthest& a, const Farthest& b) {
                       const bool first = a.distance > b.distance
                                          || (a.distance == b.distance && a.index < b.index);
                       return first ? a : b;
                     },
                     [&](int64_t i) { return Farthest{nearest[i], static_cast<int32_t>(i)}; })
                 .index;
    }
  }
};

struct FurthestPointSample {
  int32_t samples = 0;

  using T = Floats;
  static constexpr auto attributes =
      std::tuple{attribute("num_points", &FurthestPointSample::samples).required()};
  static constexpr Spec spec{.name = "MMCVFurthestPointSample",
                             .inputs = {{"points", kT}},
                             .outputs = {{"indices", kInt32}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "mmcv.ops.furthest_point_sample: of points (B, N, 3) the first, "
                                 "then again and again the one that is farthest from all that were "
                                 "taken, (B, num_points). Of equal ones the first.",
                             .differs = kNone};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (samples < 0)
      throw std::invalid_argument("num_points must be 0 or more, found " + std::to_string(samples));
    out[0] = {in[0].at(0), samples};
  }
  void check(std::span<const Shape> in) const {
    require_cloud("points", in[0]);
    if (in[0][1] < 1 && samples > 0) throw std::invalid_argument("there are no points to take");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return static_cast<size_t>(in[0][0] * in[0][1]) * sizeof(float);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> points, Tensor<int32_t> indices) const {
    device.parallel_rows(points.shape[0], SampleCloud<E>{points.data, indices.data,
                                                         static_cast<float*>(device.workspace),
                                                         points.shape[1], samples});
  }
};
TENON_PLUGIN(FurthestPointSample);

template <class E> struct QueryBall {
  const E *points, *centers;
  int32_t* indices;
  int64_t count, center_count, samples;
  float min_square, max_square;  // squares of the radii

  TENON_HD void operator()(int64_t i) const {
    const E* const all = points + i / center_count * count * 3;
    int32_t* const out = indices + i * samples;
    int64_t found = 0;
    for (int64_t p = 0; p < count && found < samples; ++p) {
      const float d = squared_distance(centers + i * 3, all + p * 3);
      if (d == 0 || (d >= min_square && d < max_square)) out[found++] = static_cast<int32_t>(p);
    }
    for (int64_t s = found; s < samples; ++s) out[s] = found > 0 ? out[0] : 0;
  }
};

struct BallQuery {
  float min_radius = 0, max_radius = 0;
  int32_t samples = 0;

  using T = Floats;
  static constexpr auto attributes =
      std::tuple{attribute("min_radius", &BallQuery::min_radius),
                 attribute("max_radius", &BallQuery::max_radius).required(),
                 attribute("sample_num", &BallQuery::samples).required()};
  static constexpr Spec spec{
      .name = "MMCVBallQuery",
      .inputs = {{"points", kT}, {"centers", kT}},
      .outputs = {{"indices", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.ball_query: for each of centers (B, M, 3) the first sample_num of points (B, "
          "N, 3) whose distance is from min_radius to below max_radius, or 0. Rows (B, M, "
          "sample_num) are filled up with the first one found, or 0.",
      .differs = kNone};

  void prepare() const {
    if (!(min_radius >= 0 && max_radius > min_radius) || samples < 0)
      throw std::invalid_argument(
          "expected 0 <= min_radius < max_radius and a sample_num of 0 or more, found "
          + std::to_string(min_radius) + ", " + std::to_string(max_radius) + " and "
          + std::to_string(samples));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = {in[1].at(0), in[1].at(1), samples};
  }
  void check(std::span<const Shape> in) const { require_clouds(in[0], in[1]); }
  template <class E>
  void run(const Device& device, Tensor<const E> points, Tensor<const E> centers,
           Tensor<int32_t> indices) const {
    device.parallel_for(
        centers.shape[0] * centers.shape[1],
        QueryBall<E>{points.data, centers.data, indices.data, points.shape[1], centers.shape[1],
                     samples, min_radius * min_radius, max_radius * max_radius});
  }
};
TENON_PLUGIN(BallQuery);

// Points by their distance from a row's center.
template <class E> struct NearestFirst {
  const E *points, *centers;
  int64_t count, center_count;

  TENON_HD float distance(int64_t row, int32_t point) const {
    return squared_distance(centers + row * 3, points + (row / center_count * count + point) * 3);
  }
  TENON_HD bool operator()(int64_t row, int32_t a, int32_t b) const {
    return distance(row, a) < distance(row, b);
  }
};

// Rows of k as (B, k, rows of a cloud).
struct TransposeRows {
  const int32_t* from;
  int32_t* to;
  int64_t k, rows;
  TENON_HD void operator()(int64_t i) const {
    const int64_t row = i % rows, at = i / rows % k, cloud = i / (rows * k);
    to[i] = from[(cloud * rows + row) * k + at];
  }
};

struct Knn {
  int32_t k = 0;

  using T = Floats;
  static constexpr auto attributes = std::tuple{attribute("k", &Knn::k).required()};
  static constexpr Spec spec{
      .name = "MMCVKNN",
      .inputs = {{"points", kT}, {"centers", kT}},
      .outputs = {{"indices", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.knn: the k of points (B, N, 3) that are nearest to each of centers (B, M, 3), "
          "nearest first, as (B, k, M). Of equal ones the first.",
      .differs = kNone};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (k < 0) throw std::invalid_argument("k must be 0 or more, found " + std::to_string(k));
    out[0] = {in[1].at(0), k, in[1].at(1)};
  }
  void check(std::span<const Shape> in) const {
    require_clouds(in[0], in[1]);
    if (in[0][1] < k)
      throw std::invalid_argument("k is " + std::to_string(k) + ", but there are "
                                  + std::to_string(in[0][1]) + " points");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const {
    return sort_workspace(in[1][0] * in[1][1], in[0][1])
           + static_cast<size_t>(out[0].volume()) * sizeof(int32_t);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> points, Tensor<const E> centers,
           Tensor<int32_t> indices) const {
    const int64_t rows = centers.shape[0] * centers.shape[1];
    if (indices.shape.volume() == 0) return;
    auto* const order = static_cast<int32_t*>(device.workspace);
    device.top_k(rows, points.shape[1], k,
                 NearestFirst<E>{points.data, centers.data, points.shape[1], centers.shape[1]},
                 order, order + rows * k);
    device.parallel_for(rows * k, TransposeRows{order, indices.data, k, centers.shape[1]});
  }
};
TENON_PLUGIN(Knn);

template <class E> struct ThreeNearest {
  const E *targets, *sources;
  E* distances;
  int32_t* indices;
  int64_t target_count, source_count;

  TENON_HD void operator()(int64_t i) const {
    const E* const all = sources + i / target_count * source_count * 3;
    float best[3] = {HUGE_VALF, HUGE_VALF, HUGE_VALF};
    int32_t at[3] = {};
    for (int64_t s = 0; s < source_count; ++s) {
      float d = squared_distance(targets + i * 3, all + s * 3);
      auto index = static_cast<int32_t>(s);
      for (int k = 0; k < 3; ++k) {
        if (!(d < best[k])) continue;
        const float farther = best[k];
        const int32_t its_index = at[k];
        best[k] = d;
        at[k] = index;
        d = farther;
        index = its_index;
      }
    }
    for (int k = 0; k < 3; ++k) {
      distances[i * 3 + k] = static_cast<E>(sqrtf(best[k]));
      indices[i * 3 + k] = at[k];
    }
  }
};

struct ThreeNn {
  using T = Floats;
  static constexpr Spec spec{
      .name = "MMCVThreeNN",
      .inputs = {{"target", kT}, {"source", kT}},
      .outputs = {{"distances", kT}, {"indices", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.three_nn: distances (B, N, 3) of the three points of source (B, M, 3) that are "
          "nearest to each of target (B, N, 3), and which they are. Those that are missing are "
          "infinitely far, with index 0.",
      .differs = kNone};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = out[1] = {in[0].at(0), in[0].at(1), 3};
  }
  void check(std::span<const Shape> in) const { require_clouds(in[1], in[0]); }
  template <class E>
  void run(const Device& device, Tensor<const E> target, Tensor<const E> source,
           Tensor<E> distances, Tensor<int32_t> indices) const {
    device.parallel_for(target.shape[0] * target.shape[1],
                        ThreeNearest<E>{target.data, source.data, distances.data, indices.data,
                                        target.shape[1], source.shape[1]});
  }
};
TENON_PLUGIN(ThreeNn);

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

void require_picks(const Shape& features, const Shape& indices, int rank) {
  if (features.rank() != 3 || indices.rank() != rank || features[0] != indices[0])
    throw std::invalid_argument("expected features (B, C, N) and indices of " + std::to_string(rank)
                                + " dimensions with as many clouds, found " + text_of(features)
                                + " and " + text_of(indices));
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
    out[0] = {in[0].at(0), in[0].at(1), in[1].at(1)};
  }
  void check(std::span<const Shape> in) const {
    require_picks(in[0], in[1], 3);
    if (in[1][2] != 3 || in[2].rank() != 3 || !std::equal(in[1].d, in[1].d + 3, in[2].d))
      throw std::invalid_argument("indices and weights must be (B, N, 3), found " + text_of(in[1])
                                  + " and " + text_of(in[2]));
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
    out[0] = {in[0].at(0), in[0].at(1), in[1].at(1)};
  }
  void check(std::span<const Shape> in) const { require_picks(in[0], in[1], 2); }
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
    out[0] = {in[0].at(0), in[0].at(1), in[1].at(1), in[1].at(2)};
  }
  void check(std::span<const Shape> in) const { require_picks(in[0], in[1], 3); }
  template <class E>
  void run(const Device& device, Tensor<const E> features, Tensor<const int32_t> indices,
           Tensor<E> y) const {
    pick<E>(device, features, indices, nullptr, 1, y);
  }
};
TENON_PLUGIN(GroupPoints);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
