#include "calibration/insert_quantization.h"

#include <algorithm>
#include <cmath>

#include "calibration/weight_scales.h"
#include "ops/dequantize.h"
#include "ops/quantize.h"
#include "ops/shuffle.h"

namespace tenon {
namespace {

Tensor scalar_tensor(float number) {
  return Tensor::of<float>(DataType::kFLOAT, {}, std::span<const float>(&number, 1));
}

class Inserter {
 public:
  explicit Inserter(Network& network) : network_(network) {
    for (const auto& node : network.nodes()) positions_.emplace(node.get(), positions_.size());
  }

  void add(const Placement::Activation& activation) {
    const auto first = std::ranges::min_element(
        activation.uses, {}, [&](const auto& use) { return positions_.at(use.node); });
    Value& there_and_back = through(*activation.tensor, scalar_tensor(activation.scale), -1,
                                    activation.type, *first->node, activation.zero_point);
    for (const auto& [node, input] : activation.uses) node->inputs[input] = &there_and_back;
  }

  void add(const Placement::Weights& weights) {
    Node& node = *weights.use.node;
    Value* value = node.inputs[weights.use.input];
    const Tensor& tensor = *value->constant;
    const std::vector<float> of_channels =
        weight_scales(value->name, tensor, weights.shape, weights.axis);
    Tensor scales = Tensor::of<float>(DataType::kFLOAT, {weights.shape[weights.axis]},
                                      std::span<const float>(of_channels));
    if (tensor.shape() != weights.shape) {
      auto op = std::make_unique<Shuffle>();
      op->has_reshape = true;
      op->reshape = weights.shape;
      value = &before(node, std::move(op), {value}, value->name + " reshaped");
    }
    node.inputs[weights.use.input] =
        &through(*value, std::move(scales), weights.axis, DataType::kINT8, node);
    node.precision.reset();
    std::ranges::fill(node.output_types, std::nullopt);
  }

  void move_layers() {
    network_.move_nodes(moves_);
    network_.touch();
    network_.infer_if_touched();
  }

 private:
  Value& before(const Node& user, std::unique_ptr<Op> op, std::vector<Value*> inputs,
                const std::string& name) {
    Node& node = network_.add_node(std::move(op), std::move(inputs), name);
    moves_.emplace(&node, &user);
    return *node.outputs[0];
  }

  Value& through(Value& value, Tensor scales, int axis, DataType type, const Node& user,
                 uint8_t zero_point = 0) {
    Value& scale = network_.add_weight(std::move(scales), value.name + " scale");
    auto quantize = std::make_unique<Quantize>();
    quantize->layout.axis = axis;
    quantize->to = type;
    auto dequantize = std::make_unique<Dequantize>();
    dequantize->layout.axis = axis;
    std::vector<Value*> scale_and_zero{&scale};
    if (zero_point != 0)
      scale_and_zero.push_back(&network_.add_weight(
          Tensor::of<uint8_t>(type, {}, std::span<const uint8_t>(&zero_point, 1)),
          value.name + " zero point"));
    const auto with = [&](Value& data) {
      std::vector<Value*> inputs{&data};
      inputs.insert(inputs.end(), scale_and_zero.begin(), scale_and_zero.end());
      return inputs;
    };
    Value& quantized = before(user, std::move(quantize), with(value), value.name + " quantized");
    return before(user, std::move(dequantize), with(quantized), value.name + " dequantized");
  }

  Network& network_;
  std::unordered_map<const Node*, size_t> positions_;
  std::unordered_map<const Node*, const Node*> moves_;
};

}  // namespace

void insert_quantization(Network& network, const Placement& placement) {
  Inserter inserter(network);
  for (const auto& activation : placement.activations) inserter.add(activation);
  for (const auto& weights : placement.weights) inserter.add(weights);
  inserter.move_layers();
}

}  // namespace tenon
