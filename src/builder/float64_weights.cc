#include "builder/float64_weights.h"

#include <algorithm>

#include "network/bodies.h"
#include "ops/float64_arithmetic.h"
#include "ops/scatter.h"
#include "ops/select.h"

namespace tenon {
namespace {

bool reads_float64(const Node& node) {
  return node.as<Float64Pointwise>() != nullptr || node.as<Float64Reduce>() != nullptr
         || node.as<Float64Cumulative>() != nullptr || node.as<Float64Order>() != nullptr
         || node.as<FromFloat64>() != nullptr;
}

// Whether elements of the input are elements of output 0, in layers that compute nothing.
bool passes_on(const Node& node, size_t input) {
  switch (node.kind()) {
    case LayerType::kCONCATENATION:
      return true;
    case LayerType::kCONSTANT:
    case LayerType::kGATHER:
    case LayerType::kIDENTITY:
    case LayerType::kPADDING:
    case LayerType::kREVERSE_SEQUENCE:
    case LayerType::kSHUFFLE:
    case LayerType::kSQUEEZE:
    case LayerType::kUNSQUEEZE:
      return input == 0;
    case LayerType::kSLICE:
      return input == 0 || input == 4;  // what it fills with
    case LayerType::kSCATTER:
      return input != 1;
    case LayerType::kSELECT:
      return input != 0;
    default:
      return false;
  }
}

/// The users of a network's values come behind them, so that one walk from its end tells of all.
class Walk {
 public:
  std::unordered_set<const Value*> run(const Network& network) {
    visit(network);
    return std::move(weights_);
  }

 private:
  void visit(const Network& network) {
    const auto order = network.sorted();
    for (auto node = order.rbegin(); node != order.rend(); ++node) visit(**node);
    for (const auto& value : network.values())
      if (value->is_weight() && value->type == DataType::kINT64 && found_.contains(value.get()))
        weights_.insert(value.get());
  }

  void visit(const Node& node) {
    const ControlFlow* layer = control_flow_of(node);
    if (layer != nullptr)
      for (const auto& body : layer->bodies) visit(*body, node, *layer);
    const bool is_passed = !node.outputs.empty() && found_.contains(node.outputs[0]);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != nullptr && (reads_float64(node) || (is_passed && passes_on(node, i))))
        found_.insert(node.inputs[i]);
  }

  // What a body reads in float64 is so outside, too.
  void visit(const Network& body, const Node& node, const ControlFlow& layer) {
    visit(body);
    for (size_t i = 0; i < body.inputs().size(); ++i) {
      const int from = layer.layer_input(i);
      if (from >= 0 && found_.contains(body.inputs()[i]))
        found_.insert(node.inputs[static_cast<size_t>(from)]);
    }
  }

  std::unordered_set<const Value*> found_, weights_;
};

}  // namespace

std::unordered_set<const Value*> float64_weights(const Network& network) {
  return Walk().run(network);
}

}  // namespace tenon
