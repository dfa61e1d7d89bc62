#include "network/clone.h"

#include <unordered_map>

#include "network/control_flow.h"

namespace tenon {
namespace {

using ValueMap = std::unordered_map<const Value*, Value*>;

void copy_requests(const Value& from, Value& to) {
  to.name = from.name;
  to.allowed_formats = from.allowed_formats;
  to.requested_type = from.requested_type;
  to.is_debug = from.is_debug;
}

void add_io(const Network& from, Network& to, ValueMap& copies) {
  for (const Value* input : from.inputs()) {
    Value& copy = to.add_input(input->name, input->type, input->declared, input->dimension_names);
    copy_requests(*input, copy);
    copies.emplace(input, &copy);
  }
  for (const auto& value : from.values())
    if (value->is_weight()) {
      Value& copy = to.add_weight(*value->constant, value->name);
      copy.refittable = value->refittable;
      copy.folded = value->folded;
      copies.emplace(value.get(), &copy);
    }
}

}  // namespace

std::unique_ptr<Network> clone(const Network& network) {
  auto copy = std::make_unique<Network>();
  copy->name = network.name;
  copy->debugs_unfused = network.debugs_unfused;
  ValueMap copies;
  add_io(network, *copy, copies);
  for (const auto& node : network.nodes()) {
    Node& twin = copy->add_node(node->op->clone(), {}, node->name);
    if (ControlFlow* layer = control_flow_of(twin))
      for (auto& body : layer->bodies) body = clone(*body);
    twin.metadata = node->metadata;
    twin.precision = node->precision;
    twin.output_types = node->output_types;
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      copy_requests(*node->outputs[i], *twin.outputs[i]);
      copies.emplace(node->outputs[i], twin.outputs[i]);
    }
  }
  // Layers may use outputs of layers that were added after them.
  for (size_t n = 0; n < network.nodes().size(); ++n)
    for (const Value* input : network.nodes()[n]->inputs)
      copy->nodes()[n]->inputs.push_back(input != nullptr ? copies.at(input) : nullptr);
  for (const Value* output : network.outputs()) copy->mark_output(*copies.at(output));
  copy->touch();
  return copy;
}

}  // namespace tenon
