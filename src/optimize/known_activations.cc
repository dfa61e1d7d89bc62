// Activations that exporters spell out: hard sigmoid, hard swish, and both forms of GELU.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/unary.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::UnaryOperation;
using Operation = nvinfer1::ElementWiseOperation;
using Family = PointwiseStep::Family;

bool is_near(double a, double b) {
  return std::fabs(a - b) <= 1e-3 * std::fabs(b);
}

// A product with its constants multiplied, the layers that make it, and what else it multiplies.
struct Factors {
  double constant = 1;
  std::vector<Value*> others;
  std::vector<Node*> layers;  // in order of execution

  bool is(double number, const Value* value) const {
    return is_near(constant, number) && others.size() == 1 && others[0] == value;
  }
};

class KnownActivations {
 public:
  explicit KnownActivations(const Network& network) : network_(network), uses_(network) {}

  std::optional<Patch> run() {
    const auto order = network_.sorted();
    // The last first: a hard swish has a hard sigmoid inside.
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const auto* op = element_wise(*it);
      if (op == nullptr) continue;
      if (op->operation != Operation::kPROD && op->operation != Operation::kDIV) continue;
      if (auto factors = factors_of(**it))
        static_cast<void>(hard_sigmoid(*factors) || gelu_erf(*factors) || gelu_tanh(*factors));
    }
    if (patch_.empty()) return std::nullopt;
    return std::move(patch_);
  }

 private:
  static const ElementWise* element_wise(const Node* node) {
    if (node == nullptr || !is_plain(*node) || !is_float_only(*node) || is_on_host(*node))
      return nullptr;
    return node->as<ElementWise>();
  }

  // The layer that makes a value, if nobody else uses it.
  Node* only_producer(const Value& value) const {
    return value.producer != nullptr && uses_.only(value) != nullptr ? value.producer : nullptr;
  }

  // Products and quotients by constants, as far as each is used by the next alone.
  std::optional<Factors> factors_of(Node& node) const {
    Factors f;
    if (!collect(node, f)) return std::nullopt;
    return f;
  }

  bool collect(Node& node, Factors& f) const {
    const bool divides = element_wise(&node)->operation == Operation::kDIV;
    for (size_t i = 0; i < 2; ++i) {
      Value* v = node.inputs[i];
      if (const auto number = scalar(v)) {
        if (divides && (i == 0 || *number == 0)) return false;
        f.constant *= divides ? 1 / *number : *number;
        continue;
      }
      if (divides && i == 1) return false;
      Node* producer = only_producer(*v);
      const auto* op = element_wise(producer);
      const bool joins = op != nullptr && f.others.size() < 4
                         && (op->operation == Operation::kPROD || op->operation == Operation::kDIV)
                         && producer->outputs[0]->dims == node.outputs[0]->dims;
      Factors inner;
      if (joins && collect(*producer, inner)) {
        f.constant *= inner.constant;
        f.others.insert(f.others.end(), inner.others.begin(), inner.others.end());
        f.layers.insert(f.layers.end(), inner.layers.begin(), inner.layers.end());
      } else {
        f.others.push_back(v);
      }
    }
    f.layers.push_back(&node);
    return true;
  }

  // x + number, in either order, used once.
  struct Shifted {
    Value* x = nullptr;
    double number = 0;
    Node* node = nullptr;
  };
  std::optional<Shifted> shifted(const Value& value) const {
    Node* node = only_producer(value);
    const auto* op = element_wise(node);
    if (op == nullptr || op->operation != Operation::kSUM) return std::nullopt;
    for (const size_t i : {0u, 1u})
      if (const auto number = scalar(node->inputs[i]))
        return Shifted{node->inputs[1 - i], *number, node};
    return std::nullopt;
  }

  // The factor that is not x, when there are two of which one is x.
  static Value* gate_of(const Factors& f, const Value* x) {
    if (f.others.size() != 2) return nullptr;
    return f.others[0] == x ? f.others[1] : f.others[1] == x ? f.others[0] : nullptr;
  }

  // clip(x + c, 0, h) / h, also times x.
  bool hard_sigmoid(const Factors& f) {
    for (Value* gate : f.others) {
      Node* clip = only_producer(*gate);
      const auto* op = clip == nullptr || !is_plain(*clip) ? nullptr : clip->as<Activation>();
      if (op == nullptr || op->type != ActivationType::kCLIP || op->alpha != 0) continue;
      const auto sum = shifted(*clip->inputs[0]);
      if (!sum || !(op->beta > 0) || !is_near(f.constant * double{op->beta}, 1)) continue;
      const bool gates = gate_of(f, sum->x) == gate;
      if (!gates && f.others.size() != 1) continue;
      Pointwise fused;
      fused.program.steps.push_back(
          {Family::kActivation, static_cast<int32_t>(ActivationType::kHARD_SIGMOID), 0, -1,
           static_cast<float>(f.constant), static_cast<float>(f.constant * sum->number)});
      if (gates)
        fused.program.steps.push_back(
            {Family::kElementWise, static_cast<int32_t>(Operation::kPROD), 0, 1});
      return fuse(std::move(fused), *sum->x, {sum->node, clip}, f);
    }
    return false;
  }

  bool gelu(ActivationType type, Value& x, std::vector<Node*> layers, const Factors& f) {
    Pointwise fused;
    fused.program.steps = {{Family::kActivation, static_cast<int32_t>(type), 0, -1}};
    return fuse(std::move(fused), x, std::move(layers), f);
  }

  // x / 2 * (1 + erf(x / sqrt 2))
  bool gelu_erf(const Factors& f) {
    if (!is_near(f.constant, 0.5)) return false;
    for (Value* x : f.others) {
      Value* gate = gate_of(f, x);
      const auto sum = gate == nullptr ? std::nullopt : shifted(*gate);
      Node* erf = sum && sum->number == 1 ? only_producer(*sum->x) : nullptr;
      const auto* op = erf == nullptr || !is_plain(*erf) ? nullptr : erf->as<Unary>();
      if (op == nullptr || op->operation != UnaryOperation::kERF) continue;
      const auto argument = product_of(*erf->inputs[0]);
      if (!argument || !argument->is(std::numbers::sqrt2 / 2, x)) continue;
      auto layers = argument->layers;
      layers.insert(layers.end(), {erf, sum->node});
      return gelu(ActivationType::kGELU_ERF, *x, std::move(layers), f);
    }
    return false;
  }

  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
  bool gelu_tanh(const Factors& f) {
    if (!is_near(f.constant, 0.5)) return false;
    for (Value* x : f.others) {
      Value* gate = gate_of(f, x);
      const auto sum = gate == nullptr ? std::nullopt : shifted(*gate);
      Node* tanh = sum && sum->number == 1 ? only_producer(*sum->x) : nullptr;
      const auto* op = tanh == nullptr || !is_plain(*tanh) ? nullptr : tanh->as<Activation>();
      if (op == nullptr || op->type != ActivationType::kTANH) continue;
      const auto argument = product_of(*tanh->inputs[0]);
      if (!argument || argument->others.size() != 1 || !is_near(argument->constant, 0.7978845608))
        continue;
      auto layers = polynomial(*argument->others[0], *x);
      if (layers.empty()) continue;
      layers.insert(layers.end(), argument->layers.begin(), argument->layers.end());
      layers.insert(layers.end(), {tanh, sum->node});
      return gelu(ActivationType::kGELU_TANH, *x, std::move(layers), f);
    }
    return false;
  }

  std::optional<Factors> product_of(const Value& value) const {
    Node* node = only_producer(value);
    const auto* op = element_wise(node);
    if (op == nullptr || (op->operation != Operation::kPROD && op->operation != Operation::kDIV))
      return std::nullopt;
    return factors_of(*node);
  }

  // The layers of x + 0.044715 x^3; none when it is something else.
  std::vector<Node*> polynomial(const Value& value, const Value& x) const {
    Node* sum = only_producer(value);
    const auto* op = element_wise(sum);
    if (op == nullptr || op->operation != Operation::kSUM) return {};
    for (const size_t i : {0u, 1u}) {
      if (sum->inputs[i] != &x) continue;
      const auto cube = product_of(*sum->inputs[1 - i]);
      if (!cube || !is_near(cube->constant, 0.044715)) continue;
      auto layers = cube->layers;
      const bool product = cube->others.size() == 3
                           && std::all_of(cube->others.begin(), cube->others.end(),
                                          [&](const Value* v) { return v == &x; });
      Node* power = cube->others.size() == 1 ? only_producer(*cube->others[0]) : nullptr;
      if (const auto* p = element_wise(power); p != nullptr && p->operation == Operation::kPOW
                                               && power->inputs[0] == &x
                                               && scalar(power->inputs[1]) == 3.0)
        layers.insert(layers.begin(), power);
      else if (!product)
        continue;
      layers.push_back(sum);
      return layers;
    }
    return {};
  }

  bool fuse(Pointwise op, Value& x, std::vector<Node*> layers, const Factors& f) {
    layers.insert(layers.end(), f.layers.begin(), f.layers.end());
    const bool taken = std::any_of(layers.begin(), layers.end(),
                                   [&](const Node* n) { return patch_.removes(*n); });
    if (taken || x.dims != layers.back()->outputs[0]->dims) return false;
    patch_.fuse(std::make_unique<Pointwise>(std::move(op)), {&x}, layers);
    return true;
  }

  const Network& network_;
  Uses uses_;
  Patch patch_;
};

}  // namespace

std::optional<Patch> known_activations(const Network& network, const Target&) {
  return KnownActivations(network).run();
}

}  // namespace tenon
