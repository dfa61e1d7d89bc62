// Neighbours among clouds of points, as mmcv.ops has them: MMCVBallQuery, MMCVKNN and
// MMCVThreeNN 1.
#include <tenon/kernels/point_cloud.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

using Floats = Types<float, Half, BFloat16>;
constexpr const char* kNone = "There is none for TensorRT elsewhere. float16 and bfloat16.";

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
    require_cloud("centers", in[1]);
    out[0] = {in[1][0], in[1][1], samples};
  }
  void check(std::span<const Shape> in) const { require_clouds("points", in[0], "centers", in[1]); }
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

  void prepare() const { require_at_least("k", k, 0); }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_cloud("centers", in[1]);
    out[0] = {in[1][0], k, in[1][1]};
  }
  void check(std::span<const Shape> in) const {
    require_clouds("points", in[0], "centers", in[1]);
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
    require_cloud("target", in[0]);
    out[0] = out[1] = {in[0][0], in[0][1], 3};
  }
  void check(std::span<const Shape> in) const { require_clouds("target", in[0], "source", in[1]); }
  template <class E>
  void run(const Device& device, Tensor<const E> target, Tensor<const E> source,
           Tensor<E> distances, Tensor<int32_t> indices) const {
    device.parallel_for(target.shape[0] * target.shape[1],
                        ThreeNearest<E>{target.data, source.data, distances.data, indices.data,
                                        target.shape[1], source.shape[1]});
  }
};
TENON_PLUGIN(ThreeNn);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
