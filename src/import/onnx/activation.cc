// Activation functions.
#include <limits>

#include "import/node.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using Operation = nvinfer1::ElementWiseOperation;

void clip_by_attributes(NodeContext& n) {
  constexpr float kMaxFloat = std::numeric_limits<float>::max();
  const float low = n.real("min", -kMaxFloat), high = n.real("max", kMaxFloat);
  n.set_output(0, n.activation(ActivationType::kCLIP, n.input(0), low, high));
}

// A bound that is one constant number.
std::optional<double> bound(NodeContext& n, int i, double otherwise) {
  if (!n.has_input(i)) return otherwise;
  const Tensor* t = n.constant_input(i);
  if (t == nullptr || t->count() != 1) return std::nullopt;
  return t->numbers()[0];
}

void clip_by_inputs(NodeContext& n) {
  n.expect_inputs(1, 3);
  Value* x = &n.input(0);
  constexpr double kMaxFloat = std::numeric_limits<float>::max();
  const auto low = bound(n, 1, -kMaxFloat), high = bound(n, 2, kMaxFloat);
  if (is_float(x->type) && low && high && *low <= *high) {
    n.set_output(0, n.activation(ActivationType::kCLIP, *x, static_cast<float>(*low),
                                 static_cast<float>(*high)));
    return;
  }
  if (n.has_input(1)) x = &n.binary(Operation::kMAX, *x, n.input(1));
  if (n.has_input(2)) x = &n.binary(Operation::kMIN, *x, n.input(2));
  n.set_output(0, *x);
}

}  // namespace

TENON_IMPORT(Relu, 1, "") {
  n.expect_inputs(1, 1);
  Value& x = n.input(0);
  n.ignore("consumed_inputs");
  n.set_output(0, is_float(x.type) ? n.activation(ActivationType::kRELU, x)
                                   : n.binary(Operation::kMAX, x, 0.0));
}
TENON_IMPORT(Sigmoid, 1, "") {
  n.expect_inputs(1, 1);
  n.ignore("consumed_inputs");
  n.set_output(0, n.activation(ActivationType::kSIGMOID, n.input(0)));
}
TENON_IMPORT(Tanh, 1, "") {
  n.expect_inputs(1, 1);
  n.ignore("consumed_inputs");
  n.set_output(0, n.activation(ActivationType::kTANH, n.input(0)));
}
TENON_IMPORT(LeakyRelu, 1, "") {
  n.ignore("consumed_inputs");
  n.set_output(0, n.activation(ActivationType::kLEAKY_RELU, n.input(0), n.real("alpha", 0.01f)));
}
TENON_IMPORT(Elu, 1, "") {
  n.ignore("consumed_inputs");
  n.set_output(0, n.activation(ActivationType::kELU, n.input(0), n.real("alpha", 1.0f)));
}
TENON_IMPORT(Selu, 1, "") {
  n.ignore("consumed_inputs");
  const float alpha = n.real("alpha", n.opset() < 6 ? 1.6732f : 1.67326319217681884765625f);
  const float gamma = n.real("gamma", n.opset() < 6 ? 1.0507f : 1.05070102214813232421875f);
  n.set_output(0, n.activation(ActivationType::kSELU, n.input(0), alpha, gamma));
}
TENON_IMPORT(Celu, 12, "") {
  // max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) is Elu of x/alpha, scaled back.
  const float alpha = n.real("alpha", 1.0f);
  require(alpha != 0, "attribute 'alpha' is 0");
  Value& elu = n.activation(ActivationType::kELU, n.binary(Operation::kDIV, n.input(0), alpha), 1);
  n.set_output(0, n.binary(Operation::kPROD, elu, alpha));
}
TENON_IMPORT(HardSigmoid, 1, "") {
  n.ignore("consumed_inputs");
  n.set_output(0, n.activation(ActivationType::kHARD_SIGMOID, n.input(0), n.real("alpha", 0.2f),
                               n.real("beta", 0.5f)));
}
TENON_IMPORT(HardSwish, 14, "") {
  Value& x = n.input(0);
  Value& gate = n.activation(ActivationType::kHARD_SIGMOID, x, 1.0f / 6, 0.5f);
  n.set_output(0, n.binary(Operation::kPROD, x, gate));
}
TENON_IMPORT(Softplus, 1, "") {
  n.set_output(0, n.activation(ActivationType::kSOFTPLUS, n.input(0), 1, 1));
}
TENON_IMPORT(Softsign, 1, "") {
  n.set_output(0, n.activation(ActivationType::kSOFTSIGN, n.input(0)));
}
TENON_IMPORT(ThresholdedRelu, 1, "") {
  n.set_output(0, n.activation(ActivationType::kTHRESHOLDED_RELU, n.input(0), n.real("alpha", 1)));
}
TENON_IMPORT(ScaledTanh, 1, "") {
  n.set_output(0, n.activation(ActivationType::kSCALED_TANH, n.input(0), n.real("alpha", 1),
                               n.real("beta", 1)));
}
TENON_IMPORT(Gelu, 20, "") {
  const std::string approximate = n.text("approximate", "none");
  require(approximate == "none" || approximate == "tanh",
          "attribute 'approximate' is '{}'; expected 'none' or 'tanh'", approximate);
  n.set_output(0, n.activation(approximate == "none" ? ActivationType::kGELU_ERF
                                                     : ActivationType::kGELU_TANH,
                               n.input(0)));
}
TENON_IMPORT(Mish, 18, "") {
  Value& x = n.input(0);
  Value& gate =
      n.activation(ActivationType::kTANH, n.activation(ActivationType::kSOFTPLUS, x, 1, 1));
  n.set_output(0, n.binary(Operation::kPROD, x, gate));
}
namespace {

// x * sigmoid(alpha * x).
Value& swish(NodeContext& n, Value& x) {
  const float alpha = n.real("alpha", 1);
  Value& scaled = alpha == 1 ? x : n.binary(Operation::kPROD, x, alpha);
  return n.binary(Operation::kPROD, x, n.activation(ActivationType::kSIGMOID, scaled));
}

}  // namespace

TENON_IMPORT(Swish, 24, "") {
  n.set_output(0, swish(n, n.input(0)));
}
TENON_IMPORT(SwiGLU, 28, "") {
  n.expect_inputs(2, 2);
  Value &gate = n.input(0), &x = n.input(1);
  require(n.rank(gate) == n.rank(x), "its inputs have {} and {} dimensions; expected one shape",
          n.rank(gate), n.rank(x));
  for (size_t i = 0; i < x.dims.size(); ++i)
    require(!gate.dims[i]->is_constant() || !x.dims[i]->is_constant() || gate.dims[i] == x.dims[i],
            "its inputs have extents {} and {} at axis {}; expected one shape",
            text_of(gate.dims[i]), text_of(x.dims[i]), i);
  n.set_output(0, n.binary(Operation::kPROD, swish(n, gate), x));
}
TENON_IMPORT(Shrink, 9, "") {
  // x + bias below -lambd, x - bias above it, 0 between.
  Value& x = n.input(0);
  const float lambda = n.real("lambd", 0.5f), bias = n.real("bias", 0);
  Value& below = n.binary(Operation::kLESS, x, -lambda);
  Value& above = n.binary(Operation::kGREATER, x, lambda);
  Value& high = n.select(above, n.binary(Operation::kSUB, x, bias), n.scalar(x, 0));
  n.set_output(0, n.select(below, n.binary(Operation::kSUM, x, bias), high));
}
TENON_IMPORT(PRelu, 1, "") {
  // max(x, 0) + slope * min(x, 0); slopes of old opsets lie along the channels.
  n.ignore("consumed_inputs");
  n.expect_inputs(2, 2);
  Value& x = n.input(0);
  const Tensor* constant = n.constant_input(1);
  if (constant != nullptr && constant->count() == 1 && is_float(x.type)) {
    const auto slope = static_cast<float>(constant->numbers()[0]);
    n.set_output(0, n.activation(ActivationType::kLEAKY_RELU, x, slope));
    return;
  }
  Value* slope = &n.input(1);
  if (n.opset() < 7 && n.rank(*slope) == 1 && n.rank(x) > 1) {
    std::vector<int> source(static_cast<size_t>(n.rank(x)), -1);
    source[1] = 0;
    slope = &n.rearrange(*slope, source);
  }
  Value& negative = n.binary(Operation::kMIN, x, 0.0);
  Value& positive = n.binary(Operation::kMAX, x, 0.0);
  n.set_output(0,
               n.binary(Operation::kSUM, positive, n.binary(Operation::kPROD, *slope, negative)));
}
TENON_IMPORT(Clip, 1, "") {
  n.ignore("consumed_inputs");
  clip_by_attributes(n);
}
TENON_IMPORT(Clip, 11, "") {
  clip_by_inputs(n);
}

}  // namespace tenon
