#include "optimize/body_builder.h"

#include <algorithm>

#include "network/clone.h"
#include "network/control_flow.h"
#include "ops/constant.h"
#include "ops/identity.h"

namespace tenon {
namespace {

// What a tensor is in every run, where that is known now.
std::optional<Tensor> constant_of(const Value& v) {
  if (v.constant) return v.constant;
  if (v.producer != nullptr) {
    const auto* constant = v.producer->as<Constant>();
    if (constant != nullptr) return v.producer->inputs[0]->constant->reshaped(constant->dimensions);
  }
  return constant_content(v);
}

}  // namespace

BodyBuilder::BodyBuilder(const std::string& name) : network_(std::make_shared<Network>()) {
  network_->name = name;
}

Value& BodyBuilder::add_input(DataType type, const Dims& dims) {
  const BodyDims inside = body_dims(dims);
  const std::string name = fmt::format("{} [input {}]", network_->name, network_->inputs().size());
  return network_->add_input(name, type, inside.declared, inside.names);
}

Value& BodyBuilder::of(Value& outer) {
  Value* v = &outer;
  for (auto it = aliases_.find(v); it != aliases_.end(); it = aliases_.find(v)) v = it->second;
  if (const auto it = inside_.find(v); it != inside_.end()) return *it->second;
  if (auto constant = constant_of(*v))
    return *(inside_[v] = &network_->add_weight(std::move(*constant), v->name));
  capture(*v);
  return *inside_.at(v);
}

size_t BodyBuilder::capture(Value& outer) {
  const auto it = std::find(captured_.begin(), captured_.end(), &outer);
  if (it != captured_.end()) return static_cast<size_t>(it - captured_.begin());
  Value& inner = add_input(outer.type, outer.dims);
  inside_.emplace(&outer, &inner);
  captured_.push_back(&outer);
  return captured_.size() - 1;
}

void BodyBuilder::copy(const std::vector<Node*>& nodes) {
  for (const Node* node : nodes) {
    std::vector<Value*> inputs;
    for (Value* in : node->inputs) inputs.push_back(in != nullptr ? &of(*in) : nullptr);
    Node& twin = network_->add_node(node->op->clone(), std::move(inputs), node->name);
    if (ControlFlow* layer = control_flow_of(twin))
      for (auto& body : layer->bodies) body = clone(*body);
    twin.metadata = node->metadata;
    twin.precision = node->precision;
    twin.output_types = node->output_types;
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      twin.outputs[i]->name = node->outputs[i]->name;
      define(*node->outputs[i], *twin.outputs[i]);
    }
    network_->infer(twin);
  }
}

Value& BodyBuilder::mark_output(Value& inner) {
  const std::string name =
      fmt::format("{} [output {}]", network_->name, network_->outputs().size());
  Value* output = &inner;
  if (inner.is_input || inner.is_output || inner.is_weight()) {
    Node& copy = network_->add_node(std::make_unique<Identity>(), {&inner}, name);
    network_->infer(copy);
    output = copy.outputs[0];
  }
  output->name = name;
  network_->mark_output(*output);
  return *output;
}

}  // namespace tenon
