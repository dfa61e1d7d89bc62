#include "network/splice.h"

namespace tenon {

std::unordered_map<const Value*, Value*> splice(const Network& body, std::span<Value* const> inputs,
                                                Network& network) {
  require(inputs.size() == body.inputs().size(), "body '{}' has {} inputs; {} were given",
          body.name, body.inputs().size(), inputs.size());
  std::unordered_map<const Value*, Value*> here;
  for (size_t i = 0; i < inputs.size(); ++i) here[body.inputs()[i]] = inputs[i];
  for (const auto& value : body.values())
    if (value->is_weight()) here[value.get()] = &network.add_weight(*value->constant, value->name);
  for (const Node* node : body.sorted()) {
    std::vector<Value*> arguments;
    for (const Value* in : node->inputs) arguments.push_back(in != nullptr ? here.at(in) : nullptr);
    Node& twin = network.add_node(node->op->clone(), std::move(arguments), node->name);
    twin.metadata = node->metadata;
    twin.precision = node->precision;
    twin.output_types = node->output_types;
    network.infer(twin);
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      twin.outputs[i]->name = node->outputs[i]->name;
      twin.outputs[i]->constant = node->outputs[i]->constant;
      here[node->outputs[i]] = twin.outputs[i];
    }
  }
  return here;
}

}  // namespace tenon
