// MMCVFurthestPointSample 1: mmcv.ops.furthest_point_sample.
#include <tenon/kernels/point_cloud.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

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

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("num_points", &FurthestPointSample::samples).required()};
  static constexpr Spec spec{
      .name = "MMCVFurthestPointSample",
      .inputs = {{"points", kT}},
      .outputs = {{"indices", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.furthest_point_sample: of points (B, N, 3) the first, "
          "then again and again the one that is farthest from all that were "
          "taken, (B, num_points). Of equal ones the first.",
      .differs = "There is none for TensorRT elsewhere. float16 and bfloat16."};

  void prepare() const { require_at_least("num_points", samples, 0); }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_cloud("points", in[0]);
    out[0] = {in[0][0], samples};
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

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
