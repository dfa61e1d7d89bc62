#include "calibration/lower_bound.h"

#include <algorithm>
#include <limits>

#include "ops/activation.h"
#include "ops/concatenation.h"
#include "ops/elementwise.h"
#include "ops/pooling.h"
#include "ops/shuffle.h"
#include "ops/softmax.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr int kDeepest = 8;

double bound_of(const Value& value, int depth);

double bound_of(const Activation& op, const Value& input, int depth) {
  switch (op.type) {
    case ActivationType::kRELU:
    case ActivationType::kSIGMOID:
    case ActivationType::kHARD_SIGMOID:
      return 0;
    case ActivationType::kSOFTPLUS:
      return op.alpha >= 0 ? 0 : kNone;
    case ActivationType::kTHRESHOLDED_RELU:
      return std::min(op.alpha, 0.f);
    case ActivationType::kCLIP:
      return std::max<double>(op.alpha, bound_of(input, depth));
    case ActivationType::kTANH:
    case ActivationType::kSOFTSIGN:
      return -1;
    case ActivationType::kELU:
      return op.alpha >= 0 ? -op.alpha : kNone;
    case ActivationType::kGELU_ERF:
      return -0.16998;  // near -0.752
    case ActivationType::kGELU_TANH:
      return -0.17005;
    default:
      return kNone;
  }
}

// x times what is between 0 and 1 of it: swish and hard swish; or of another tensor.
double bound_of_gated(const Value& x, const Value& gate, int depth) {
  const auto* op = gate.producer != nullptr ? gate.producer->as<Activation>() : nullptr;
  if (op == nullptr) return kNone;
  const bool is_hard = op->type == ActivationType::kHARD_SIGMOID;
  if (!is_hard && op->type != ActivationType::kSIGMOID) return kNone;
  if (gate.producer->inputs[0] != &x) return std::min(bound_of(x, depth), 0.0);
  // The parabola x (alpha x + beta) at its lowest; of swish near -1.28.
  if (is_hard)
    return op->alpha > 0 ? -static_cast<double>(op->beta) * op->beta / (4.0 * op->alpha) : kNone;
  return -0.2785;
}

double bound_of(const Value& value, int depth) {
  const Node* node = value.producer;
  if (node == nullptr || depth == kDeepest) return kNone;
  ++depth;
  const auto input = [&](size_t i) { return bound_of(*node->inputs[i], depth); };
  if (const auto* op = node->as<Activation>()) return bound_of(*op, *node->inputs[0], depth);
  if (node->as<Softmax>() != nullptr) return 0;
  if (node->as<Shuffle>() != nullptr) return input(0);
  if (node->as<Pooling>() != nullptr) return std::min(input(0), 0.0);  // padding may be zeros
  if (node->as<Concatenation>() != nullptr) {
    double lowest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < node->inputs.size(); ++i) lowest = std::min(lowest, input(i));
    return lowest;
  }
  const auto* op = node->as<ElementWise>();
  if (op == nullptr) return kNone;
  if (op->operation == ElementWiseOperation::kSUM) return input(0) + input(1);
  if (op->operation != ElementWiseOperation::kPROD) return kNone;
  const Value &a = *node->inputs[0], &b = *node->inputs[1];
  return std::max(bound_of_gated(a, b, depth), bound_of_gated(b, a, depth));
}

}  // namespace

double lower_bound_of(const Value& value) {
  return bound_of(value, 0);
}

}  // namespace tenon
