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
    const float log_p =
        (of_class < 0 ? of_class : 0.f) - kernels::log_one_plus(kernels::share(-fabsf(of_class)));
    const float log_rest = log_p - of_class;  // of 1 - p
    return -(is_target ? alpha : 1 - alpha) * kernels::share(gamma * log_rest) * log_p;
  }
};

// The losses of logits (N, classes).
template <class E> struct FocalLosses {
  const E* logits;
  const int64_t* targets;
  const float* weights;  // of classes, or null
  int64_t classes;
  FocalRule rule;

  TENON_HD float weight_of(int64_t target) const {
    const bool is_class = target >= 0 && target < classes;
    return weights != nullptr && is_class ? weights[target] : 1.f;
  }
  TENON_HD float operator()(int64_t i) const {
    const int64_t target = targets[i / classes];
    const auto logit = static_cast<float>(logits[i]);
    const bool is_target = target == i % classes;
    return rule(is_target ? logit : -logit, is_target) * weight_of(target);
  }
};

template <class E> struct EachLoss {
  FocalLosses<E> losses;
  E* y;

  TENON_HD void operator()(int64_t row, int64_t first, int64_t count) const {
    const int64_t start = row * losses.classes + first, target = losses.targets[row] - first;
    const float weight = losses.weight_of(losses.targets[row]);
    const InputSpan<E> x(losses.logits + start, count);
    const OutputSpan<E> to(y + start);
    for (int64_t i = 0; i < count; ++i) to[i] = losses.rule(-x[i], false) * weight;
    if (target >= 0 && target < count) to[target] = losses.rule(x[target], true) * weight;
    to.store(count);
  }
};

template <class E> struct SumOfLosses {
  FocalLosses<E> losses;
  E* y;
  int64_t count;
  float divisor;

  TENON_DEVICE void operator()(const Team& team, int64_t) const {
    const float sum = team.sum(count, losses);
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
          "from "
          "0 are exact. float16 and bfloat16, added up in float32."};

  void prepare() const {
    if (!(gamma >= 0))
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
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    Carver carver;
    kernels::reserve_constants(carver, weights);
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const int64_t> target,
           Tensor<E> y) const {
    Carver carver(device.workspace);
    const FocalLosses<E> losses{x.data,
                                target.data,
                                kernels::constants_of(device, carver, weights),
                                x.shape[1],
                                {gamma, alpha}};
    const auto rows = static_cast<float>(x.shape[0]);
    if (reduction == Reduction::kNone)
      device.parallel_spans(x.shape[0], x.shape[1], EachLoss<E>{losses, y.data});
    else
      device.parallel_rows(1, SumOfLosses<E>{losses, y.data, x.shape.volume(),
                                             reduction == Reduction::kMean ? rows : 1.f});
  }
};
TENON_PLUGIN(SigmoidFocalLoss);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
