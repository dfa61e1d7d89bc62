#include "import/graph_io.h"

#include <onnx_schema.pb.h>

#include <unordered_set>

#include "import/scope.h"
#include "import/stand_ins.h"
#include "ops/identity.h"

namespace tenon {
namespace {

// The declared extents, -1 for those known only at run time, and their names.
struct Extents {
  Shape declared;
  std::array<std::string, Shape::kMaxRank> names;
};

Extents extents_of(const onnx::TypeProto::Tensor& type) {
  require(type.has_shape(), "its shape is not declared; export the model with at least a rank");
  require(type.shape().dim_size() <= Shape::kMaxRank,
          "it has {} dimensions; at most {} are supported", type.shape().dim_size(),
          Shape::kMaxRank);
  Extents e;
  for (const auto& dim : type.shape().dim()) {
    // Exporters of PaddlePaddle write "?" for every extent that varies: no name at all.
    if (dim.has_dim_param() && dim.dim_param() != "?")
      e.names[static_cast<size_t>(e.declared.rank())] = dim.dim_param();
    require(!dim.has_dim_value() || dim.dim_value() >= -1, "extent {} is {}", e.declared.rank(),
            dim.dim_value());
    e.declared.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
  return e;
}

// An optional at the border holds something: its type is that of what it holds.
const onnx::TypeProto& held_type(const onnx::TypeProto& type) {
  return type.has_optional_type() ? held_type(type.optional_type().elem_type()) : type;
}

void add_input(const onnx::ValueInfoProto& input, Scope& scope, const Log& log) {
  const onnx::TypeProto& declared = held_type(input.type());
  const char* what = declared.has_sequence_type() ? "a sequence" : "a map";
  require(!declared.has_sequence_type() && !declared.has_map_type(),
          "it is {}, and only tensors can enter a network: export the model with tensors", what);
  require(declared.has_tensor_type(), "its type is not declared");
  const auto& type = declared.tensor_type();
  const auto data_type = data_type_of(type.elem_type());
  require(data_type.has_value(), "data type {} is not supported yet",
          onnx_type_name(type.elem_type()));
  if (!is_exact(type.elem_type()))
    log.warning("input '{}' is {} in the model; it is {} here", input.name(),
                onnx_type_name(type.elem_type()), name_of(*data_type));
  const Extents extents = extents_of(type);
  Value* value =
      &scope.state->network.add_input(input.name(), *data_type, extents.declared, extents.names);
  Layers layers(*scope.state, input.name());
  if (type.elem_type() == onnx::TensorProto::DOUBLE) value = &layers.as_float64(*value);
  if (is_stand_in(type.elem_type()))
    value = &stand_in_from_outside(layers, *value, type.elem_type());
  scope.items[input.name()] = value;
}

// Bindings are found by name. TensorRT's parser gives the output the name, too.
void rename_input(Value& input, const Scope& scope, const Log& log) {
  const std::string name = unused_input_name(scope.state->network, "__" + input.name);
  log.warning("the model's output '{}' is an input of that name: the input is called '{}' here",
              input.name, name);
  input.name = name;
}

void mark_tensor(Value* value, const std::string& name, int32_t declared, Scope& scope,
                 const Log& log) {
  Layers layers(*scope.state, name);
  if (value->is_weight()) value = &layers.constant(*value);
  value = &layers.as_float32(*value);
  if (value->is_input && value->name == name) rename_input(*value, scope, log);
  if (value->is_input || value->is_output || value->name != name) {
    value = &layers.add(std::make_unique<Identity>(), {value});
    value->name = name;
    value->producer->name = name + " [Identity]";
  }
  if (declared != 0 && data_type_of(declared) != value->type)
    log.warning("output '{}' is declared as {}, but the model makes {}", name,
                onnx_type_name(declared), name_of(value->type));
  else if (declared != 0 && !is_exact(declared))
    log.warning("output '{}' is {} in the model; it is {} here", name, onnx_type_name(declared),
                name_of(value->type));
  scope.state->network.mark_output(*value);
}

// The elements of a sequence are outputs of their own, "y_0", "y_1" and so on.
void mark_output(const onnx::ValueInfoProto& output, Scope& scope, const Log& log) {
  const onnx::TypeProto& declared = held_type(output.type());
  const Item item = scope.find(output.name());
  const Sequence* sequence = as_sequence(item);
  if (sequence == nullptr)
    return mark_tensor(as_tensor(item, "it"), output.name(), declared.tensor_type().elem_type(),
                       scope, log);
  require(has_known_length(*sequence),
          "it is a sequence whose length only running tells, and only tensors can leave a network");
  require(!sequence->empty(), "it is an empty sequence, and only tensors can leave a network");
  const int32_t type = declared.sequence_type().elem_type().tensor_type().elem_type();
  for (size_t i = 0; i < sequence->size(); ++i)
    mark_tensor((*sequence)[i].tensor, fmt::format("{}_{}", output.name(), i), type, scope, log);
}

}  // namespace

Value& WeightSource::add(ImportState& state, onnx::TensorProto& tensor) {
  std::optional<std::span<const std::byte>> replacement;
  const auto given = options.initializers.find(tensor.name());
  if (given != options.initializers.end()) replacement = given->second;
  const std::string name = tensor.name();
  const int32_t type = tensor.data_type();
  std::optional<Tensor> float64;
  Tensor made = make_tensor(tensor, tensors, replacement, &float64);
  Value& weight = state.network.add_weight(std::move(made), name);
  Layers layers(state, name);
  if (!is_exact(type)) layers.set_model_type(weight, type);
  if (float64) layers.keep_float64(weight, *float64);
  return weight;
}

void check_name(const std::string& name, const char* what) {
  require(!name.empty(), "{} has no name", what);
  require(is_utf8(name), "the name of {} is not valid UTF-8", what);
}

void list_initializers(onnx::GraphProto& graph, Scope& scope) {
  require(graph.sparse_initializer_size() == 0, "sparse initializers are not supported yet");
  for (auto& tensor : *graph.mutable_initializer()) {
    check_name(tensor.name(), "an initializer");
    require(scope.initializers.emplace(tensor.name(), &tensor).second,
            "two initializers are called '{}'", tensor.name());
  }
}

void add_inputs(const onnx::GraphProto& graph, Scope& scope, const Log& log) {
  for (const auto& input : graph.input())
    if (!scope.initializers.contains(input.name()))
      with_context(fmt::format("input '{}'", input.name()), [&] { add_input(input, scope, log); });
}

void mark_outputs(const onnx::GraphProto& graph, Scope& scope, const Log& log) {
  std::unordered_set<std::string> names;
  for (const auto& output : graph.output())
    with_context(fmt::format("graph output '{}'", output.name()), [&] {
      check_name(output.name(), "a graph output");
      require(names.insert(output.name()).second, "it is listed twice");
      mark_output(output, scope, log);
    });
}

}  // namespace tenon
