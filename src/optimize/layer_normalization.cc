// Means, differences and quotients that together are a layer normalisation.
#include <algorithm>

#include "ops/elementwise.h"
#include "ops/normalization.h"
#include "ops/reduce.h"
#include "ops/unary.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;
using Operation = nvinfer1::ElementWiseOperation;

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon), and the layers that compute it.
struct Match {
  Value* x = nullptr;
  uint32_t axes = 0;
  double epsilon = 0;
  std::vector<Node*> layers;  // in order of execution
  std::vector<Value*> parameters = {nullptr, nullptr};
};

class LayerNormalizations {
 public:
  explicit LayerNormalizations(const Network& network) : network_(network), uses_(network) {}

  std::optional<Patch> run() {
    for (const auto& node : network_.nodes())
      if (auto match = quotient(*node)) fuse(std::move(*match));
    if (patch_.empty()) return std::nullopt;
    return std::move(patch_);
  }

 private:
  static bool is_usable(const Node* node) {
    return node != nullptr && is_plain(*node) && is_float_only(*node) && !is_on_host(*node);
  }
  static bool is_binary(const Node* node, Operation operation) {
    const auto* op = is_usable(node) ? node->as<ElementWise>() : nullptr;
    return op != nullptr && op->operation == operation;
  }

  Node* only_producer(const Value& value) const {
    return value.producer != nullptr && uses_.only(value) != nullptr ? value.producer : nullptr;
  }
  Node* only_unary(const Value& value, UnaryOperation operation) const {
    Node* node = only_producer(value);
    const auto* op = is_usable(node) ? node->as<Unary>() : nullptr;
    return op != nullptr && op->operation == operation ? node : nullptr;
  }

  static const Reduce* mean(const Node* node) {
    const auto* op = is_usable(node) ? node->as<Reduce>() : nullptr;
    return op != nullptr && op->operation == ReduceOperation::kAVG && op->keep_dimensions ? op
                                                                                          : nullptr;
  }

  // The quotient by a root, or the product with the reciprocal of one.
  std::optional<Match> quotient(Node& node) const {
    if (is_binary(&node, Operation::kDIV)) {
      if (Node* root = only_unary(*node.inputs[1], UnaryOperation::kSQRT))
        return match(*node.inputs[0], *root, {root, &node});
    } else if (is_binary(&node, Operation::kPROD)) {
      for (const size_t i : {0u, 1u})
        if (Node* inverse = only_unary(*node.inputs[i], UnaryOperation::kRECIP))
          if (Node* root = only_unary(*inverse->inputs[0], UnaryOperation::kSQRT))
            return match(*node.inputs[1 - i], *root, {root, inverse, &node});
    }
    return std::nullopt;
  }

  // x - mean(x)
  struct Difference {
    Node *mean, *node;
    uint32_t axes;
  };
  static std::optional<Difference> difference_of(const Value& value) {
    Node* node = value.producer;
    if (!is_binary(node, Operation::kSUB)) return std::nullopt;
    Node* average = node->inputs[1]->producer;
    const Reduce* op = mean(average);
    if (op == nullptr || average->inputs[0] != node->inputs[0]) return std::nullopt;
    return Difference{average, node, op->axes};
  }

  std::optional<Match> match(Value& deviation, Node& root, std::vector<Node*> tail) const {
    Node* sum = only_producer(*root.inputs[0]);
    if (!is_binary(sum, Operation::kSUM)) return std::nullopt;
    const size_t constant = scalar(sum->inputs[1]) ? 1 : 0;
    const auto epsilon = scalar(sum->inputs[constant]);
    Node* variance = only_producer(*sum->inputs[1 - constant]);
    if (!epsilon || *epsilon < 0 || mean(variance) == nullptr) return std::nullopt;
    Node* square = only_producer(*variance->inputs[0]);
    if (square == nullptr) return std::nullopt;
    const bool power = is_binary(square, Operation::kPOW) && scalar(square->inputs[1]) == 2.0;
    const bool product =
        is_binary(square, Operation::kPROD) && square->inputs[0] == square->inputs[1];
    const auto first = difference_of(deviation), second = difference_of(*square->inputs[0]);
    if ((!power && !product) || !first || !second || first->axes != second->axes
        || first->axes != mean(variance)->axes || first->node->inputs[0] != second->node->inputs[0])
      return std::nullopt;
    Match m;
    m.x = first->node->inputs[0];
    m.axes = first->axes;
    m.epsilon = *epsilon;
    for (Node* n : {first->mean, second->mean, first->node, second->node, square, variance, sum})
      if (std::find(m.layers.begin(), m.layers.end(), n) == m.layers.end()) m.layers.push_back(n);
    m.layers.insert(m.layers.end(), tail.begin(), tail.end());
    return m;
  }

  // A constant that the last layer's result is multiplied with, or that is added to it.
  bool take_parameter(Match& m, Operation operation, size_t index) const {
    const Value& result = *m.layers.back()->outputs[0];
    Node* next = uses_.only(result);
    if (!is_binary(next, operation) || next->outputs[0]->dims != m.x->dims) return false;
    Value* other = next->inputs[next->inputs[0] == &result ? 1 : 0];
    if (float_constant(other) == nullptr || other->dims.size() != m.x->dims.size()) return false;
    m.parameters[index] = other;
    m.layers.push_back(next);
    return true;
  }

  // Nobody else may need what lies between.
  bool is_closed(const Match& m) const {
    const auto inside = [&](const Node* n) {
      return patch_.removes(*n) == false
             && std::find(m.layers.begin(), m.layers.end(), n) != m.layers.end();
    };
    return std::all_of(m.layers.begin(), m.layers.end(), [&](const Node* n) {
      const auto& users = uses_.of(*n->outputs[0]);
      return inside(n)
             && (n == m.layers.back()
                 || (!n->outputs[0]->is_output && std::all_of(users.begin(), users.end(), inside)));
    });
  }

  void fuse(Match m) {
    take_parameter(m, Operation::kPROD, 0);
    take_parameter(m, Operation::kSUM, 1);
    if (!is_closed(m) || m.layers.back()->outputs[0]->dims != m.x->dims) return;
    auto op = std::make_unique<Normalization>();
    op->axes = m.axes;
    op->epsilon = static_cast<float>(m.epsilon);
    patch_.fuse(std::move(op), {m.x, m.parameters[0], m.parameters[1]}, m.layers);
  }

  const Network& network_;
  Uses uses_;
  Patch patch_;
};

}  // namespace

std::optional<Patch> layer_normalization(const Network& network, const Target&) {
  return LayerNormalizations(network).run();
}

}  // namespace tenon
