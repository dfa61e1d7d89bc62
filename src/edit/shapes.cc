#include "edit/shapes.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "edit/engine_model.h"
#include "edit/graph_uses.h"
#include "edit/values.h"
#include "edit/wire.h"
#include "network/control_flow.h"

namespace tenon::edit {
namespace {

constexpr size_t kSmall = 1 << 16;  // bytes of a constant that is computed of shapes

std::unordered_set<std::string_view> function_names(const Store& store) {
  std::unordered_set<std::string_view> names;
  for (const Id id : store.items(0, Kind::kFunction)) names.emplace(store.content(id).name);
  return names;
}

bool is_known_operator(const NodeContent& node) {
  return is_standard_node(node)
             ? operator_is_known(node.op_type)
             : operator_is_known(fmt::format("{}::{}", node.domain, node.op_type));
}

bool has_stored_types(const Store& store, const NodeContent& node) {
  for (const std::string_view output : node.outputs) {
    if (output.empty()) continue;
    const Id id = store.type_of(store.graph(), output);
    const auto type = id == kNone ? std::nullopt : tensor_type(store.content(id).fields);
    if (!type || !type->has_shape) return false;
  }
  return true;
}

// The whole model, but for nodes of operators that nobody knows: what they give becomes an input if
// the model says what it is, so that shapes behind them can be inferred.
EngineModel whole_model(const Store& store) {
  EngineModel model;
  model.initializers = store.items(store.graph(), Kind::kInitializer);
  const auto functions = function_names(store);
  for (const Id id : store.items(store.graph(), Kind::kInput))
    model.inputs.emplace_back(store.content(id).fields);
  for (const Id id : store.items(store.graph(), Kind::kOutput))
    model.outputs.emplace_back(store.content(id).fields);
  for (const Id id : store.items(store.graph(), Kind::kNode)) {
    const NodeContent& node = store.node(id);
    if (is_known_operator(node) || functions.contains(node.op_type)
        || !has_stored_types(store, node)) {
      model.nodes.push_back(id);
      continue;
    }
    for (const std::string_view output : node.outputs)
      if (!output.empty())
        model.inputs.emplace_back(store.content(store.type_of(store.graph(), output)).fields);
  }
  return model;
}

Extent extent_of(Dim dim, const Network& network, const std::vector<std::string>& names) {
  if (dim->is_constant()) return {dim->value.integer, ""};
  if (dim->op == ExprOp::kSymbol) {
    const Symbol& symbol = network.symbols()[static_cast<size_t>(dim->payload)];
    if (symbol.is_data_dependent()) return {};
  }
  return {-1, tenon::text_of(dim, names)};
}

std::optional<TensorType> type_in(const Network& network, const tenon::Value& value,
                                  const std::vector<std::string>& names) {
  if (!value.known) return std::nullopt;
  TensorType type{onnx_type_of(value.type), true, {}};
  for (const Dim extent : value.dims) type.shape.push_back(extent_of(extent, network, names));
  return type;
}

std::optional<Tensor> constant_in(const tenon::Value& value) {
  if (!value.known) return std::nullopt;
  if (value.constant && value.constant->bytes() <= kSmall) return value.constant;
  if (!value.content) return std::nullopt;
  Shape shape;
  for (const Dim extent : value.dims) {
    if (!extent->is_constant()) return std::nullopt;
    shape.push_back(extent->value.integer);
  }
  std::vector<int64_t> elements;
  for (const Dim element : *value.content) {
    if (!element->is_integer_constant()) return std::nullopt;
    elements.push_back(element->value.integer);
  }
  if (shape.volume() != static_cast<int64_t>(elements.size())) return std::nullopt;
  if (value.type == DataType::kINT64) return Tensor::of<int64_t>(DataType::kINT64, shape, elements);
  Tensor tensor(value.type, shape);
  if (value.type == DataType::kINT32)
    std::ranges::copy(elements, tensor.mutable_data<int32_t>());
  else if (value.type == DataType::kBOOL)
    std::ranges::transform(elements, tensor.mutable_data<bool>(), [](int64_t e) { return e != 0; });
  else
    return std::nullopt;
  return tensor;
}

// None where more than one element follows from nothing.
std::optional<std::vector<int64_t>> target_of(const tenon::Value* data,
                                              const tenon::Value* target) {
  if (data == nullptr || target == nullptr || !data->known || !target->content
      || target->dims.size() != 1)
    return std::nullopt;
  std::vector<int64_t> elements;
  for (const Dim element : *target->content) {
    const size_t i = elements.size();
    const bool is_number = element->is_integer_constant();
    if (is_number && element->value.integer == 0) return std::nullopt;
    const bool is_kept = !is_number && i < data->dims.size() && data->dims[i] == element;
    elements.push_back(is_number ? element->value.integer : is_kept ? 0 : -1);
  }
  return std::ranges::count(elements, -1) > 1 ? std::nullopt : std::optional(elements);
}

// What a name of the main graph is in the network; null where it is not there.
const tenon::Value* value_of(const Store& store, const Imported& imported, std::string_view name) {
  const Id id = store.producer(store.graph(), name);
  if (id == kNone) return nullptr;
  if (store.item(id).kind == Kind::kInput)
    for (const tenon::Value* input : imported.network.inputs())
      if (input->name == name) return input;
  const auto* values = store.item(id).kind == Kind::kNode ? imported.outputs_of(id) : nullptr;
  if (values == nullptr) return nullptr;
  const auto& outputs = store.node(id).outputs;
  const auto index = static_cast<size_t>(std::ranges::find(outputs, name) - outputs.begin());
  return index < values->size() ? (*values)[index] : nullptr;
}

void add_targets(const Store& store, const EngineModel& model, const Imported& imported,
                 Inference& inference) {
  for (const Id id : model.nodes) {
    const NodeContent& node = store.node(id);
    if (node.op_type != "Reshape" || !is_standard_node(node) || node.inputs.size() != 2
        || integer_attribute(node, "allowzero", 0) != 0
        || is_constant(store, store.graph(), node.inputs[1]))
      continue;
    if (auto target = target_of(value_of(store, imported, node.inputs[0]),
                                value_of(store, imported, node.inputs[1])))
      inference.targets.emplace(id, std::move(*target));
  }
}

// False where the model says as much already.
bool set_type(Store& store, Id graph, std::string_view name, const TensorType& type) {
  const Id id = store.type_of(graph, name);
  if (id == kNone) {
    store.insert(graph, Kind::kValueInfo, 13, value_info(name, type));
    return true;
  }
  const auto before = tensor_type(store.content(id).fields);
  TensorType merged = type;
  if (before && before->has_shape) {
    // A name that the model gives stays.
    merged = *before;
    if (merged.shape.size() != type.shape.size()) return false;
    for (size_t i = 0; i < merged.shape.size(); ++i)
      if (merged.shape[i] == Extent()) merged.shape[i] = type.shape[i];
  }
  if (before && merged == *before) return false;
  store.replace(id, with_type(store.content(id).fields, merged));
  return true;
}

// Types that a node of an inner graph gives, or one that branches before it go on with.
void add_inner(const Store& store, Id id, const Imported& imported,
               const std::unordered_set<std::string_view>& inexact, Types& types) {
  const auto* tensors = imported.inner_outputs_of(id);
  if (tensors == nullptr) return;
  const auto& outputs = store.node(id).outputs;
  for (size_t i = 0; i < std::min(outputs.size(), tensors->size()); ++i) {
    const auto& tensor = (*tensors)[i];
    if (outputs[i].empty() || !tensor || inexact.contains(outputs[i])) continue;
    TensorType type{onnx_type_of(tensor->type), tensor->extents.has_value(), {}};
    if (tensor->extents)
      for (const int64_t extent : *tensor->extents) type.shape.push_back({extent, ""});
    types.emplace(outputs[i], std::move(type));
  }
}

}  // namespace

const TensorType* type_in(const Store& store, const TypesOfGraphs& types, Id graph,
                          std::string_view name) {
  const Id producer = store.producer(graph, name);
  if (producer == kNone) return nullptr;
  const auto of_graph = types.find(store.item(producer).container);
  if (of_graph == types.end()) return nullptr;
  const auto found = of_graph->second.find(name);
  return found == of_graph->second.end() ? nullptr : &found->second;
}

Inference infer(Store& store, const SecondInput& second_input) {
  Inference inference;
  Types& types = inference.types[store.graph()];
  const auto owner = std::make_shared<Imported>();
  Imported& imported = *owner;
  if (second_input) inference.imported = owner;
  EngineModel model = whole_model(store);
  if (second_input)
    model.second_input = [&](Id node, const tenon::Value& first) {
      std::vector<Extent> extents;
      for (const Dim extent : first.dims)
        extents.push_back(extent->is_constant() ? Extent{extent->value.integer, ""} : Extent());
      return first.known ? second_input(node, extents) : std::nullopt;
    };
  import_nodes(store, model, imported);
  const auto inexact = inexact_values(store);
  const std::vector<std::string> names = imported.network.symbol_names();
  types.reserve(model.nodes.size());
  for (const Id id : model.nodes) {
    const auto* values = imported.outputs_of(id);
    if (values == nullptr) continue;
    const auto& outputs = store.node(id).outputs;
    for (size_t i = 0; i < std::min(outputs.size(), values->size()); ++i) {
      const tenon::Value* value = (*values)[i];
      if (outputs[i].empty() || value == nullptr || inexact.contains(outputs[i])) continue;
      if (auto type = type_in(imported.network, *value, names))
        types.emplace(outputs[i], std::move(*type));
      if (auto tensor = constant_in(*value))
        inference.constants.emplace(outputs[i], std::move(*tensor));
    }
  }
  add_targets(store, model, imported, inference);
  const bool has_inner = !imported.report.inner_outputs.empty();
  for (const Id graph : has_inner ? store.containers() : std::vector<Id>())
    for (const Id id : store.items(graph, Kind::kNode))
      add_inner(store, id, imported, inexact, inference.types[graph]);
  for (const ImportProblem& problem : imported.report.problems)
    if (problem.code != nvonnxparser::ErrorCode::kUNSUPPORTED_NODE) {
      inference.problem = with_node_names(store, problem.text);
      break;
    }
  return inference;
}

std::optional<Types> output_types_at(const Store& store, const Inference& open,
                                     const InputShapes& inputs) {
  Network& network = open.imported->network;
  const auto has_bodies = [](const auto& node) { return control_flow_of(*node) != nullptr; };
  if (std::ranges::any_of(network.nodes(), has_bodies)) return std::nullopt;
  for (const auto& [id, shape] : inputs)
    for (tenon::Value* input : network.inputs()) {
      if (input->name != store.content(id).name) continue;
      input->declared = Shape();
      for (const Extent& extent : shape) input->declared.push_back(extent.value);
    }
  try {
    network.infer();
  } catch (const Error&) {
    return std::nullopt;
  }
  Types types;
  const std::vector<std::string> names = network.symbol_names();
  for (const Id id : store.items(store.graph(), Kind::kOutput)) {
    const std::string_view name = store.content(id).name;
    const tenon::Value* value = value_of(store, *open.imported, name);
    if (value == nullptr) continue;
    if (auto type = type_in(network, *value, names)) types.emplace(name, std::move(*type));
  }
  return types;
}

bool contradicts(const Store& store, Id graph, const Types& types) {
  if (store.container(graph).kind == Container::Kind::kFunction) return false;  // it has bare names
  for (const Id id : store.items(graph, Kind::kOutput)) {
    const auto declared = tensor_type(store.content(id).fields);
    const auto found = types.find(store.content(id).name);
    if (declared && declared->has_shape && found != types.end() && found->second.has_shape
        && declared->shape.size() != found->second.shape.size())
      return true;
  }
  return false;
}

namespace {

size_t write_types(Store& store, Id graph, const Types& types) {
  size_t changed = 0;
  for (const Id node : store.items(graph, Kind::kNode))
    for (const std::string_view output : store.node(node).outputs)
      if (const auto found = types.find(output); found != types.end())
        changed += set_type(store, graph, output, found->second) ? 1 : 0;
  return changed;
}

}  // namespace

size_t infer_shapes(Model& model) {
  Store& store = model.store();
  const Inference inference = infer(store);
  size_t changed = 0;
  for (const auto& [graph, types] : inference.types)
    if (graph == store.graph() || !contradicts(store, graph, types))
      changed += write_types(store, graph, types);
  return changed;
}

size_t clear_shapes(Model& model) {
  Store& store = model.store();
  size_t count = 0;
  for (const Id graph : store.containers())
    for (const Id id : store.items(graph, Kind::kValueInfo)) {
      store.remove(id);
      ++count;
    }
  return count;
}

}  // namespace tenon::edit
