#include "cuda/cudnn/fusion.h"

#include <cmath>

namespace tenon::cuda::cudnn {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;
using Family = PointwiseStep::Family;

// Longer ones are a kernel of their own.
constexpr size_t kMaxSteps = 8;

/// Translates step by step. While it does, registers from kFirst on are the results of the steps
/// made so far: how many constants there will be is not known yet.
class Matcher {
 public:
  explicit Matcher(const PointwiseProgram& program) : p_(program) {
    fusion_.inputs = program.inputs;
    fusion_.constants = program.constants;
    for (int32_t i = 0; i < program.step_register(0); ++i) registers_.push_back(i);
  }

  std::optional<Fusion> match() {
    for (size_t i = 0; i < p_.steps.size(); ++i) {
      const PointwiseStep& s = p_.steps[i];
      if (is_gate_of_next(i)) {
        registers_.push_back(-1);  // nobody else reads it
        registers_.push_back(add({CUDNN_POINTWISE_SWISH_FWD}, at(s.a)));
        ++i;
        continue;
      }
      const bool matched = s.family == Family::kActivation ? activation(s)
                           : s.family == Family::kUnary    ? unary(s)
                                                           : binary(s);
      if (!matched) return std::nullopt;
    }
    if (fusion_.steps.size() > kMaxSteps) return std::nullopt;
    // The last step must be the output.
    if (!p_.steps.empty()
        && registers_.back() != kFirst + static_cast<int32_t>(fusion_.steps.size()) - 1)
      return std::nullopt;
    const int32_t first = fusion_.inputs + static_cast<int32_t>(fusion_.constants.size());
    for (Fusion::Step& s : fusion_.steps)
      for (int32_t* r : {&s.a, &s.b})
        if (*r >= kFirst) *r += first - kFirst;
    return std::move(fusion_);
  }

 private:
  static constexpr int32_t kFirst = 1 << 20;

  int32_t at(int32_t r) const { return registers_[static_cast<size_t>(r)]; }

  int32_t add(const Graph::Pointwise& operation, int32_t a, int32_t b = -1) {
    fusion_.steps.push_back({operation, a, b});
    return kFirst + static_cast<int32_t>(fusion_.steps.size()) - 1;
  }
  bool done(const Graph::Pointwise& operation, int32_t a, int32_t b = -1) {
    registers_.push_back(add(operation, a, b));
    return true;
  }
  int32_t constant(float value) {
    fusion_.constants.push_back(value);
    return fusion_.inputs + static_cast<int32_t>(fusion_.constants.size()) - 1;
  }

  /// x * sigmoid(x), the sigmoid being read by that product alone.
  bool is_gate_of_next(size_t i) const {
    const PointwiseStep& gate = p_.steps[i];
    if (gate.family != Family::kActivation
        || gate.function != static_cast<int32_t>(ActivationType::kSIGMOID)
        || i + 1 == p_.steps.size())
      return false;
    const PointwiseStep& product = p_.steps[i + 1];
    const int32_t gated = p_.step_register(i);
    if (product.family != Family::kElementWise
        || product.function != static_cast<int32_t>(ElementWiseOperation::kPROD)
        || !((product.a == gate.a && product.b == gated)
             || (product.b == gate.a && product.a == gated)))
      return false;
    for (size_t k = i + 2; k < p_.steps.size(); ++k)
      if (p_.steps[k].a == gated || p_.steps[k].b == gated) return false;
    return true;
  }

  bool activation(const PointwiseStep& s) {
    const int32_t x = at(s.a);
    switch (static_cast<ActivationType>(s.function)) {
      case ActivationType::kRELU:
        return done({CUDNN_POINTWISE_RELU_FWD}, x);
      case ActivationType::kLEAKY_RELU:
        return done({.mode = CUDNN_POINTWISE_RELU_FWD, .lower_slope = s.alpha}, x);
      case ActivationType::kCLIP:
        return clip(x, s.alpha, s.beta);
      case ActivationType::kSIGMOID:
        return done({CUDNN_POINTWISE_SIGMOID_FWD}, x);
      case ActivationType::kTANH:
        return done({CUDNN_POINTWISE_TANH_FWD}, x);
      case ActivationType::kELU:
        return done({.mode = CUDNN_POINTWISE_ELU_FWD, .elu_alpha = s.alpha}, x);
      case ActivationType::kGELU_ERF:
        return done({CUDNN_POINTWISE_GELU_FWD}, x);
      case ActivationType::kGELU_TANH:
        return done({CUDNN_POINTWISE_GELU_APPROX_TANH_FWD}, x);
      case ActivationType::kSOFTPLUS:
        return s.alpha * s.beta == 1
               && done({.mode = CUDNN_POINTWISE_SOFTPLUS_FWD, .softplus_beta = s.beta}, x);
      case ActivationType::kHARD_SIGMOID: {
        const int32_t scaled = add({CUDNN_POINTWISE_MUL}, x, constant(s.alpha));
        return clip(add({CUDNN_POINTWISE_ADD}, scaled, constant(s.beta)), 0, 1);
      }
      default:
        return false;
    }
  }

  bool clip(int32_t x, float low, float high) {
    if (low == 0 && high > 0 && std::isfinite(high))
      return done({.mode = CUDNN_POINTWISE_RELU_FWD, .upper = high}, x);
    const int32_t below = add({CUDNN_POINTWISE_MIN}, x, constant(high));
    return done({CUDNN_POINTWISE_MAX}, below, constant(low));
  }

  bool unary(const PointwiseStep& s) {
    const int32_t x = at(s.a);
    switch (static_cast<UnaryOperation>(s.function)) {
      case UnaryOperation::kEXP:
        return done({CUDNN_POINTWISE_EXP}, x);
      case UnaryOperation::kSQRT:
        return done({CUDNN_POINTWISE_SQRT}, x);
      case UnaryOperation::kABS:
        return done({CUDNN_POINTWISE_ABS}, x);
      case UnaryOperation::kNEG:
        return done({CUDNN_POINTWISE_NEG}, x);
      default:
        return false;
    }
  }

  bool binary(const PointwiseStep& s) {
    const int32_t a = at(s.a), b = at(s.b);
    switch (static_cast<ElementWiseOperation>(s.function)) {
      case ElementWiseOperation::kSUM:
        return joined(CUDNN_POINTWISE_ADD, a, b, true);
      case ElementWiseOperation::kPROD:
        return joined(CUDNN_POINTWISE_MUL, a, b, true);
      case ElementWiseOperation::kMAX:
        return joined(CUDNN_POINTWISE_MAX, a, b, true);
      case ElementWiseOperation::kMIN:
        return joined(CUDNN_POINTWISE_MIN, a, b, true);
      case ElementWiseOperation::kSUB:
        return joined(CUDNN_POINTWISE_SUB, a, b, false);
      case ElementWiseOperation::kDIV:
        return joined(CUDNN_POINTWISE_DIV, a, b, false);
      default:
        return false;
    }
  }

  /// The first operand is one that the graph makes: kernels expect it so.
  bool joined(cudnnPointwiseMode_t mode, int32_t a, int32_t b, bool commutes) {
    const auto is_made = [](int32_t r) { return r == 0 || r >= kFirst; };
    if (!is_made(a)) {
      if (!commutes || !is_made(b)) return false;
      std::swap(a, b);
    }
    return done({mode}, a, b);
  }

  const PointwiseProgram& p_;
  Fusion fusion_;
  std::vector<int32_t> registers_;  // the program's, as those of the fusion
};

}  // namespace

std::optional<Fusion> match_fusion(const PointwiseProgram& program) {
  return Matcher(program).match();
}

}  // namespace tenon::cuda::cudnn
