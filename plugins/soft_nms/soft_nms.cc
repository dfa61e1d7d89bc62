// SoftNonMaxSuppression 1: mmcv.ops.soft_nms.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

enum class Decay { kNaive = 0, kLinear = 1, kGaussian = 2 };

// The better score; of equal ones the first box.
struct Ranked {
  float score;
  int32_t index;
};

// Takes the best box again and again, and lowers the scores of what overlaps it.
template <class E> struct SoftSuppress {
  const E *boxes, *scores;
  E* detections;
  int32_t* indices;
  float* left;  // scores of what is not taken; negative infinity for the rest
  int64_t count;
  float overlap, sigma, min_score, pixel;
  Decay decay;

  TENON_DEVICE void operator()(const Team& team, int64_t) const {
    team.each(count, [&](int64_t i) {
      const auto score = static_cast<float>(scores[i]);
      left[i] = score == score ? score : -HUGE_VALF;
    });
    int64_t taken = 0;
    for (; taken < count; ++taken) {
      synchronize();
      const Ranked best = team.reduce(
          count, Ranked{-HUGE_VALF, INT32_MAX},
          [](const Ranked& a, const Ranked& b) {
            return a.score > b.score || (a.score == b.score && a.index < b.index) ? a : b;
          },
          [&](int64_t i) { return Ranked{left[i], static_cast<int32_t>(i)}; });
      if (best.score == -HUGE_VALF) break;
      const E* const b = boxes + int64_t{best.index} * 4;
      team.each(1, [&](int64_t) {
        for (int k = 0; k < 4; ++k) detections[taken * 5 + k] = b[k];
        detections[taken * 5 + 4] = static_cast<E>(best.score);
        indices[taken] = best.index;
      });
      team.each(count, [&](int64_t i) {
        if (i == best.index) {
          left[i] = -HUGE_VALF;
        } else if (left[i] != -HUGE_VALF) {
          const float score = left[i] * share(iou(b, boxes + i * 4));
          left[i] = score < min_score ? -HUGE_VALF : score;
        }
      });
    }
    team.each(count - taken, [&](int64_t i) {
      for (int k = 0; k < 5; ++k) detections[(taken + i) * 5 + k] = static_cast<E>(0.f);
      indices[taken + i] = -1;
    });
  }

 private:
  TENON_DEVICE static void synchronize() {
#if defined(__CUDACC__)
    __syncthreads();
#endif
  }
  TENON_HD float iou(const E* a, const E* b) const {
    float low[2], high[2], extent[2][2];
    for (int k = 0; k < 2; ++k) {
      const float a1 = static_cast<float>(a[k]), a2 = static_cast<float>(a[k + 2]);
      const float b1 = static_cast<float>(b[k]), b2 = static_cast<float>(b[k + 2]);
      low[k] = fmaxf(a1, b1);
      high[k] = fminf(a2, b2);
      extent[0][k] = a2 - a1 + pixel;
      extent[1][k] = b2 - b1 + pixel;
    }
    const float common =
        fmaxf(0.f, high[0] - low[0] + pixel) * fmaxf(0.f, high[1] - low[1] + pixel);
    const float all = extent[0][0] * extent[0][1] + extent[1][0] * extent[1][1] - common;
    return common > 0 ? common / all : 0.f;
  }
  TENON_HD float share(float iou) const {
    if (decay == Decay::kGaussian) return expf(-iou * iou / sigma);
    if (iou < overlap) return 1;
    return decay == Decay::kLinear ? 1 - iou : 0.f;
  }
};

struct SoftNms {
  float overlap = 0.3f, sigma = 0.5f, min_score = 1e-3f;
  Decay decay = Decay::kLinear;
  int32_t offset = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("iou_threshold", &SoftNms::overlap)
          .says("overlap from which on scores are lowered"),
      attribute("sigma", &SoftNms::sigma).says("of the Gaussian"),
      attribute("min_score", &SoftNms::min_score)
          .says("boxes whose lowered score is below are dropped"),
      attribute(
          "method", &SoftNms::decay,
          {{"naive", Decay::kNaive}, {"linear", Decay::kLinear}, {"gaussian", Decay::kGaussian}})
          .says("naive is torchvision.ops.nms"),
      attribute("offset", &SoftNms::offset).says("1: coordinates count pixels")};
  static constexpr Spec spec{
      .name = "SoftNonMaxSuppression",
      .inputs = {{"boxes", kT}, {"scores", kT}},
      .outputs = {{"dets", kT}, {"indices", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.soft_nms: of boxes (B, 4) as corners and scores (B) the best is taken again "
          "and again, and the scores of those that overlap it are lowered. Rows (B, 5) of box and "
          "score, and indices (B). Rows that are left are 0, with index -1.",
      .differs =
          "There is none for TensorRT elsewhere. The number of rows does not depend on the data, "
          "and indices are int32."};

  void prepare() const {
    if (!(sigma > 0))
      throw std::invalid_argument("sigma must be positive, found " + std::to_string(sigma));
    if (offset != 0 && offset != 1)
      throw std::invalid_argument("offset must be 0 or 1, found " + std::to_string(offset));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = {in[0].at(0), 5};
    out[1] = {in[0].at(0)};
  }
  void check(std::span<const Shape> in) const {
    if (in[0].rank() != 2 || in[0][1] != 4 || in[1].rank() != 1 || in[1][0] != in[0][0])
      throw std::invalid_argument("expected boxes (B, 4) and scores (B), found " + text_of(in[0])
                                  + " and " + text_of(in[1]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return static_cast<size_t>(in[1].volume()) * sizeof(float);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores, Tensor<E> dets,
           Tensor<int32_t> indices) const {
    device.parallel_rows(
        1, SoftSuppress<E>{boxes.data, scores.data, dets.data, indices.data,
                           static_cast<float*>(device.workspace), boxes.shape[0], overlap, sigma,
                           min_score, static_cast<float>(offset), decay});
  }
};
TENON_PLUGIN(SoftNms);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
