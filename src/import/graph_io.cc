#include "import/graph_io.h"

#include <onnx_schema.pb.h>

#include <unordered_set>

#include "import/scope.h"
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

// TensorRT's networks take and give tensors.
void require_tensor(const onnx::ValueInfoProto& value) {
  const auto& type = value.type();
  const char* what = type.has_sequence_type()   ? "a sequence"
                     : type.has_optional_type() ? "an optional"
                     : type.has_map_type()      ? "a map"
                                                : nullptr;
  require(what == nullptr,
          "it is {}, and only tensors can enter and leave a network: export the model with tensors",
          what == nullptr ? "" : what);
}

void add_input(const onnx::ValueInfoProto& input, Scope& scope, const Log& log) {
  require_tensor(input);
  require(input.type().has_tensor_type(), "its type is not declared");
  const auto& type = input.type().tensor_type();
  const auto data_type = data_type_of(type.elem_type());
  const bool is_double = type.elem_type() == onnx::TensorProto::DOUBLE;
  require(data_type && (is_exact(type.elem_type()) || is_double),
          "data type {} is not supported yet", onnx_type_name(type.elem_type()));
  if (is_double)
    log.warning("input '{}' is float64 in the model; it is float32 here", input.name());
  const Extents extents = extents_of(type);
  scope.items[input.name()] =
      &scope.state->network.add_input(input.name(), *data_type, extents.declared, extents.names);
}

void mark_output(const onnx::ValueInfoProto& output, Scope& scope, const Log& log) {
  require_tensor(output);
  Value* value = as_tensor(scope.find(output.name()), "it");
  Layers layers(*scope.state, output.name());
  if (value->is_weight()) value = &layers.constant(*value);
  if (value->is_input || value->is_output || value->name != output.name()) {
    value = &layers.add(std::make_unique<Identity>(), {value});
    value->name = output.name();
    value->producer->name = output.name() + " [Identity]";
  }
  const int32_t declared = output.type().tensor_type().elem_type();
  if (declared != 0 && data_type_of(declared) != value->type)
    log.warning("output '{}' is declared as {}, but the model makes {}", output.name(),
                onnx_type_name(declared), name_of(value->type));
  else if (declared != 0 && !is_exact(declared))
    log.warning("output '{}' is {} in the model; it is {} here", output.name(),
                onnx_type_name(declared), name_of(value->type));
  scope.state->network.mark_output(*value);
}

}  // namespace

Value& WeightSource::add(Network& network, onnx::TensorProto& tensor) {
  std::optional<std::span<const std::byte>> replacement;
  const auto given = options.initializers.find(tensor.name());
  if (given != options.initializers.end()) replacement = given->second;
  const std::string name = tensor.name();
  return network.add_weight(make_tensor(tensor, tensors, replacement), name);
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
