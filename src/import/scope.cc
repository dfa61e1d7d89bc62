#include "import/scope.h"

#include <onnx_schema.pb.h>

#include <algorithm>

#include "import/graph.h"
#include "import/node.h"
#include "network/control_flow.h"

namespace tenon {

using Code = nvonnxparser::ErrorCode;

std::string unused_input_name(const Network& network, const std::string& base) {
  std::string name = base;
  const auto taken = [&](const Value* v) { return v->name == name; };
  for (int i = 1; std::any_of(network.inputs().begin(), network.inputs().end(), taken); ++i)
    name = fmt::format("{}_{}", base, i);
  return name;
}

void Scope::set_opsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  opset = standard_opset(imports);
  for (const auto& entry : imports)
    if (!is_standard(entry.domain())) other_opsets[entry.domain()] = entry.version();
}

int64_t Scope::opset_of(const onnx::NodeProto& node) const {
  if (is_standard(node.domain())) return opset;
  const auto it = other_opsets.find(node.domain());
  return it == other_opsets.end() ? 1 : std::max<int64_t>(it->second, 1);
}

Item Scope::find(const std::string& name) {
  if (auto item = find_here_or_around(name)) return *item;
  if (const auto it = producers.find(name); it != producers.end())
    fail_import(Code::kINVALID_GRAPH,
                "tensor '{}' is used before node '{}' makes it: the nodes form a cycle", name,
                shown_name(*it->second.node, it->second.index));
  fail_import(Code::kINVALID_GRAPH,
              "tensor '{}' does not exist: no input, initializer or node has that name", name);
}

std::optional<Item> Scope::find_here_or_around(const std::string& name) {
  if (const auto it = items.find(name); it != items.end()) return it->second;
  if (const auto it = missing_outputs.find(name); it != missing_outputs.end())
    fail_import(Code::kUNSUPPORTED_NODE, "{}", it->second);
  if (const auto it = initializers.find(name); it != initializers.end()) {
    return items[name] = &weights->add(*state, *it->second);
  }
  if (outer == nullptr) return std::nullopt;
  const Item around = outer->find(name);
  if (is_null(around) || body == nullptr) return around;
  return items[name] = captured(around);
}

Item Scope::captured(const Item& around) {
  if (is_empty_optional(around)) return around;
  const Sequence* sequence = as_sequence(around);
  if (sequence == nullptr) return &capture(*std::get<Value*>(around));
  Sequence inside = *sequence;
  for (SequencePart& part : inside)
    if (part.tensor != nullptr) part.tensor = &capture(*part.tensor);
  return inside;
}

Value& Scope::capture(Value& around) {
  Value*& inner = captures[&around];
  if (inner != nullptr) return *inner;
  inner = &captured_value(around);
  if (const int32_t type = Layers(*outer->state, "").model_type(around); type != 0)
    state->model_types[inner] = type;
  if (const auto bits = outer->state->float64_weights.find(&around);
      bits != outer->state->float64_weights.end())
    state->float64_weights[inner] = bits->second;
  return *inner;
}

Value& Scope::captured_value(Value& around) {
  Network& network = state->network;
  if (const Tensor* constant = Layers(*outer->state, "").known_tensor(around))
    return network.add_weight(*constant, around.name);
  if (auto constant = constant_content(around))
    return network.add_weight(std::move(*constant), around.name);
  const BodyDims dims = body_dims(around.dims);
  body->captured.push_back(&around);
  return network.add_input(unused_input_name(network, around.name), around.type, dims.declared,
                           dims.names);
}

}  // namespace tenon
