// MMCVSigmoidFocalLoss 1: mmcv.ops.sigmoid_focal_loss.
#include <tenon/kernels/constants.h>
#include <tenon/kernels/elementary.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::Carver;

namespace {

enum class Reduction { kNone, kMean, kSum };

struct FocalRule {
  float gamma, alpha;

  // `of_class` is the logit of what is right: of the class, or less that of another one.
  TENON_HD float operator()(float of_class, bool is_target) const {
    const float both = kernels::log_one_plus(kernels::share(-fabsf(of_class)));
    const float log_p = (of_class < 0 ? of_class : 0.f) - both;
    const float log_rest = (of_class < 0 ? 0.f : -of_class) - both;  // of 1 - p
    const float focus = gamma > 0 ? kernels::share(gamma * log_rest) : 1.f;
    // The sigmoid of infinity has no loss, whatever the logarithms are.
    return focus > 0 ? -(is_target ? alpha : 1 - alpha) * focus * log_p : 0.f;
  }
};

// The losses of logits (N, classes).
template <class E> struct FocalLosses {
  const E* logits;
  const int64_t* targets;
  const float* weights;  // of classes, or null
  int64_t classes;
  FocalRule rule;

  TENON_HD float weight_of(int64_t row) const {
    const int64_t target = targets[row];
    const bool is_class = target >= 0 && target < classes;
    return weights != nullptr && is_class ? weights[target] : 1.f;
  }
  TENON_HD float operator()(int64_t row, int64_t column, float logit) const {
    const bool is_target = targets[row] == column;
    return rule(is_target ? logit : -logit, is_target);
  }
};

template <class E> struct EachLoss {
  FocalLosses<E> losses;
  E* y;

  TENON_HD void operator()(int64_t row, int64_t first, int64_t count) const {
    const int64_t start = row * losses.classes + first;
    const float weight = losses.weight_of(row);
    const InputSpan<E> x(losses.logits + start, count);
    const OutputSpan<E> to(y + start);
    for (int64_t i = 0; i < count; ++i) to[i] = losses(row, first + i, x[i]) * weight;
    to.store(count);
  }
};

template <class E> struct SumOfRow {
  FocalLosses<E> losses;
  float* sums;

  TENON_DEVICE void operator()(const Team& team, int64_t row) const {
    const E* const x = losses.logits + row * losses.classes;
    const float sum = team.sum(losses.classes,
                               [&](int64_t i) { return losses(row, i, static_cast<float>(x[i])); });
    team.each(1, [&](int64_t) { sums[row] = sum * losses.weight_of(row); });
  }
};

template <class E> struct SumOfRows {
  const float* sums;
  E* y;
  int64_t rows;
  float divisor;

  TENON_DEVICE void operator()(const Team& team, int64_t) const {
    const float sum = team.sum(rows, [&](int64_t row) { return sums[row]; });
    team.each(1, [&](int64_t) { *y = static_cast<E>(sum / divisor); });
  }
};

struct SigmoidFocalLoss {
  float gamma = 2, alpha = 0.25f;
  std::vector<float> weights;
  Reduction reduction = Reduction::kMean;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("gamma", &SigmoidFocalLoss::gamma), attribute("alpha", &SigmoidFocalLoss::alpha),
      attribute("weight", &SigmoidFocalLoss::weights).says("of each class; none: 1"),
      attribute("reduction", &SigmoidFocalLoss::reduction,
                {{"none", Reduction::kNone}, {"mean", Reduction::kMean}, {"sum", Reduction::kSum}})
          .says("mean is the sum by the number of rows")};
  static constexpr Spec spec{
      .name = "MMCVSigmoidFocalLoss",
      .inputs = {{"input", kT}, {"target", kInt64}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.sigmoid_focal_loss (\"Focal Loss for Dense Object Detection\", Lin et al. "
          "2017) of logits (N, classes) and the class (N) that each row is of; a number that is no "
          "class is the background. The result is (N, classes), or a scalar where it is reduced.",
      .differs =
          "There is none for TensorRT elsewhere. The background has the weight 1, and losses far "
          "from 0 are exact. float16 and bfloat16, added up in float32."};

  void prepare() const {
    if (!(gamma >= 0 && std::isfinite(gamma)))
      throw std::invalid_argument("gamma must be 0 or more, found " + std::to_string(gamma));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("input", in[0], "N, classes");
    out[0] = reduction == Reduction::kNone ? in[0] : Extents{};
  }
  void check(std::span<const Shape> in) const {
    require_shape("target", in[1], {in[0][0]});
    if (!weights.empty()) require_elements("weight", weights.size(), static_cast<size_t>(in[0][1]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    kernels::reserve_constants(carver, weights);
    carver.array<float>(in[0][0]);
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const int64_t> target,
           Tensor<E> y) const {
    Carver carver(device.workspace);
    const float* const of_classes = kernels::constants_of(device, carver, weights);
    const FocalLosses<E> losses{x.data, target.data, of_classes, x.shape[1], {gamma, alpha}};
    const int64_t rows = x.shape[0];
    if (reduction == Reduction::kNone) {
      device.parallel_spans(rows, x.shape[1], EachLoss<E>{losses, y.data});
      return;
    }
    auto* const sums = carver.array<float>(rows);
    device.parallel_rows(rows, SumOfRow<E>{losses, sums});
    const float divisor = reduction == Reduction::kMean ? static_cast<float>(rows) : 1.f;
    device.parallel_rows(1, SumOfRows<E>{sums, y.data, rows, divisor});
  }
};
TENON_PLUGIN(SigmoidFocalLoss);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
