#include "cpu/onednn/post_ops.h"

#include <algorithm>
#include <limits>

#include "cpu/onednn/library.h"

namespace tenon::cpu::onednn {
namespace {

using dnnl::algorithm;
using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;
using Family = PointwiseStep::Family;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Follows a program step by step; `current_` is the register that holds the result so far.
class Matcher {
 public:
  explicit Matcher(const PointwiseProgram& program) : p_(program) {}

  std::optional<std::vector<PostOp>> match() {
    while (next_ < p_.steps.size()) {
      const size_t before = next_;
      if (!self_gated() && !single()) return std::nullopt;
      current_ = p_.step_register(next_ - 1);
      if (read_again(before)) return std::nullopt;
    }
    if (repeats_an_algorithm()) return std::nullopt;
    return std::move(ops_);
  }

 private:
  /// oneDNN 2.5 keeps one set of parameters per element-wise algorithm: a second use of it in the
  /// same chain would silently get those of the first.
  bool repeats_an_algorithm() const {
    for (size_t i = 0; i < ops_.size(); ++i)
      for (size_t k = 0; k < i && ops_[i].operand == 0; ++k)
        if (ops_[k].operand == 0 && ops_[k].algorithm == ops_[i].algorithm
            && (ops_[k].alpha != ops_[i].alpha || ops_[k].beta != ops_[i].beta))
          return true;
    return false;
  }

  /// Whether a later step reads what the steps since `from` replaced.
  bool read_again(size_t from) const {
    const int32_t first = from == 0 ? 0 : p_.step_register(from - 1);
    for (size_t i = next_; i < p_.steps.size(); ++i)
      for (const int32_t r : {p_.steps[i].a, p_.steps[i].b})
        if (r == first || (r >= p_.step_register(0) && r < current_)) return true;
    return false;
  }

  const PointwiseStep* step(size_t i) const { return i < p_.steps.size() ? &p_.steps[i] : nullptr; }

  bool add(algorithm a, float alpha = 0, float beta = 0) {
    PostOp* last = ops_.empty() ? nullptr : &ops_.back();
    if (a == algorithm::eltwise_linear && last != nullptr && last->algorithm == a) {
      last->alpha *= alpha;
      last->beta = last->beta * alpha + beta;
      return true;
    }
    ops_.push_back({a, alpha, beta, 0});
    return true;
  }

  /// x * f(x): swish, hard swish, mish.
  bool self_gated() {
    const PointwiseStep* gate = step(next_);
    const PointwiseStep* product = step(next_ + 1);
    if (!gate || !product || gate->family != Family::kActivation || gate->a != current_)
      return false;
    const int32_t gated = p_.step_register(next_);
    if (product->family != Family::kElementWise
        || product->function != static_cast<int32_t>(ElementWiseOperation::kPROD)
        || !((product->a == current_ && product->b == gated)
             || (product->b == current_ && product->a == gated)))
      return false;
    const auto type = static_cast<ActivationType>(gate->function);
    if (type == ActivationType::kSIGMOID)
      add(algorithm::eltwise_swish, 1);
    else if (type == ActivationType::kHARD_SIGMOID && gate->beta == 0.5f
             && std::abs(gate->alpha - 1 / 6.f) < 1e-7f)
      add(algorithm::eltwise_hardswish);
    else
      return false;
    next_ += 2;
    return true;
  }

  bool single() {
    const PointwiseStep& s = p_.steps[next_];
    const bool matched = s.family == Family::kActivation ? s.a == current_ && activation(s)
                         : s.family == Family::kUnary    ? s.a == current_ && unary(s)
                                                         : binary(s);
    if (matched) ++next_;
    return matched;
  }

  bool activation(const PointwiseStep& s) {
    switch (static_cast<ActivationType>(s.function)) {
      case ActivationType::kRELU:
        return add(algorithm::eltwise_relu);
      case ActivationType::kLEAKY_RELU:
        return add(algorithm::eltwise_relu, s.alpha);
      case ActivationType::kSIGMOID:
        return add(algorithm::eltwise_logistic);
      case ActivationType::kTANH:
        return add(algorithm::eltwise_tanh);
      case ActivationType::kELU:
        return add(algorithm::eltwise_elu, s.alpha);
      case ActivationType::kCLIP:
        return add(algorithm::eltwise_clip, s.alpha, s.beta);
      case ActivationType::kGELU_ERF:
        return add(algorithm::eltwise_gelu_erf);
      case ActivationType::kGELU_TANH:
        return add(algorithm::eltwise_gelu_tanh);
      case ActivationType::kHARD_SIGMOID:
        add(algorithm::eltwise_linear, s.alpha, s.beta);
        return add(algorithm::eltwise_clip, 0, 1);
      case ActivationType::kSELU:
        add(algorithm::eltwise_elu, s.alpha);
        return add(algorithm::eltwise_linear, s.beta, 0);
      case ActivationType::kSCALED_TANH:
        add(algorithm::eltwise_linear, s.beta, 0);
        add(algorithm::eltwise_tanh);
        return add(algorithm::eltwise_linear, s.alpha, 0);
      default:
        return false;
    }
  }

  bool unary(const PointwiseStep& s) {
    switch (static_cast<UnaryOperation>(s.function)) {
      case UnaryOperation::kABS:
        return add(algorithm::eltwise_abs);
      case UnaryOperation::kNEG:
        return add(algorithm::eltwise_linear, -1, 0);
      case UnaryOperation::kEXP:
        return add(algorithm::eltwise_exp);
      case UnaryOperation::kSQRT:
        return add(algorithm::eltwise_sqrt);
      default:
        return false;
    }
  }

  bool binary(const PointwiseStep& s) {
    if ((s.a == current_) == (s.b == current_)) return false;
    const bool on_left = s.a == current_;
    const int32_t other = on_left ? s.b : s.a;
    const auto operation = static_cast<ElementWiseOperation>(s.function);
    if (other >= p_.inputs && other < p_.step_register(0))
      return with_constant(operation, p_.constants[static_cast<size_t>(other - p_.inputs)],
                           on_left);
    if (other <= 0 || other >= p_.inputs) return false;
    const auto operand = [&](algorithm a) {
      ops_.push_back({a, 0, 0, other});
      return true;
    };
    switch (operation) {
      case ElementWiseOperation::kSUM:
        return operand(algorithm::binary_add);
      case ElementWiseOperation::kPROD:
        return operand(algorithm::binary_mul);
      case ElementWiseOperation::kMAX:
        return operand(algorithm::binary_max);
      case ElementWiseOperation::kMIN:
        return operand(algorithm::binary_min);
      case ElementWiseOperation::kSUB:
        return on_left && operand(algorithm::binary_sub);
      case ElementWiseOperation::kDIV:
        return on_left && operand(algorithm::binary_div);
      default:
        return false;
    }
  }

  bool with_constant(ElementWiseOperation operation, float value, bool on_left) {
    switch (operation) {
      case ElementWiseOperation::kSUM:
        return add(algorithm::eltwise_linear, 1, value);
      case ElementWiseOperation::kPROD:
        return add(algorithm::eltwise_linear, value, 0);
      case ElementWiseOperation::kMAX:
        return add(algorithm::eltwise_clip, value, kInfinity);
      case ElementWiseOperation::kMIN:
        return add(algorithm::eltwise_clip, -kInfinity, value);
      case ElementWiseOperation::kSUB:
        return on_left ? add(algorithm::eltwise_linear, 1, -value)
                       : add(algorithm::eltwise_linear, -1, value);
      case ElementWiseOperation::kDIV:
        return on_left && value != 0 && add(algorithm::eltwise_linear, 1 / value, 0);
      default:
        return false;
    }
  }

  const PointwiseProgram& p_;
  std::vector<PostOp> ops_;
  size_t next_ = 0;
  int32_t current_ = 0;
};

}  // namespace

std::optional<std::vector<PostOp>> match_post_ops(const PointwiseProgram& program) {
  return Matcher(program).match();
}

// Found by the tests: oneDNN 2.5 takes the larger or smaller of two by instructions that give the
// bound for a NaN, and so limits what it takes the exponential of. Functions that multiply by the
// element afterwards keep it.
bool keep_nans(std::span<const PostOp> post_ops) {
  return std::none_of(post_ops.begin(), post_ops.end(), [](const PostOp& op) {
    switch (op.algorithm) {
      case algorithm::eltwise_relu:
        return op.alpha == 0;
      case algorithm::eltwise_clip:
      case algorithm::eltwise_exp:
      case algorithm::eltwise_logistic:
      case algorithm::binary_max:
      case algorithm::binary_min:
        return true;
      default:
        return false;
    }
  });
}

dnnl::primitive_attr attributes_of(std::span<const PostOp> post_ops,
                                   std::span<const TensorSpec> operands, bool adds_in_place) {
  dnnl::post_ops list;
  for (const PostOp& op : post_ops) {
    if (adds_in_place && &op == &post_ops.front()) {
      list.append_sum();
      continue;
    }
    if (op.operand == 0) {
      list.append_eltwise(1, op.algorithm, op.alpha, op.beta);
      continue;
    }
    const TensorSpec& spec = operands[static_cast<size_t>(op.operand) - 1];
    list.append_binary(op.algorithm, desc_of(spec.shape, spec.layout));
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(list);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

}  // namespace tenon::cpu::onednn
