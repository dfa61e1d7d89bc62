#include "edit/value_types.h"

namespace tenon::edit {

std::vector<Id> graphs_outside_functions(const Store& store) {
  std::vector<Id> graphs;
  for (const Id graph : store.containers())
    if (store.is_inside(graph, store.graph())) graphs.push_back(graph);
  return graphs;
}

ValueTypes::ValueTypes(Store& store) : store_(store) {
  Inference inference = infer(store);
  for (const Id graph : graphs_outside_functions(store)) {
    Types& types = types_[graph] = std::move(inference.types[graph]);
    for (const Id id : store.items(graph, Kind::kInitializer)) {
      const StoredTensor stored = stored_tensor(store.content(id));
      TensorType type{stored.type, true, {}};
      for (const int64_t extent : stored.dims) type.shape.push_back({extent, ""});
      types.insert_or_assign(store.content(id).name, std::move(type));
    }
    for (const Kind kind : {Kind::kInput, Kind::kOutput, Kind::kValueInfo})
      for (const Id id : store.items(graph, kind))
        if (auto type = tensor_type(store.content(id).fields))
          types.emplace(store.content(id).name, std::move(*type));
  }
}

int32_t ValueTypes::element_of(Id graph, std::string_view name) const {
  const TensorType* type = type_of(graph, name);
  return type == nullptr ? 0 : type->element;
}

}  // namespace tenon::edit
