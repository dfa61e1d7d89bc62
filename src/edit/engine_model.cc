#include "edit/engine_model.h"

#include <filesystem>

#include "base/error.h"
#include "edit/graph_uses.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

namespace fs = std::filesystem;

std::string engine_name(Id node) {
  return fmt::format("n{}", node);
}

// Whether tensors can be named as parts of the model's own file, which spares a copy of them.
bool is_own_file_readable(const Store& store) {
  std::error_code error;
  const std::string name = fs::path(store.path()).filename().string();
  return !name.empty() && name.find_first_of(":\\") == std::string::npos
         && fs::is_regular_file(store.path(), error)
         && fs::file_size(store.path(), error) == store.file().size()
         && fs::hard_link_count(store.path(), error) == 1;
}

std::string as_own_file(const Store& store, std::string_view fields, std::string_view raw) {
  std::string reference;
  Records records(fields);
  while (const auto record = records.next())
    if (record->field != 9) reference += record->whole;
  const auto entry = [&](const char* key, const std::string& value) {
    std::string message;
    append_bytes(message, 1, key);
    append_bytes(message, 2, value);
    append_bytes(reference, 13, message);
  };
  entry("location", fs::path(store.path()).filename().string());
  entry("offset", std::to_string(raw.data() - store.file().data()));
  entry("length", std::to_string(raw.size()));
  append_number(reference, 14, 1);
  return reference;
}

void append_initializer(std::string& graph, const Store& store, Id id, bool own_file) {
  constexpr size_t kSmall = 4096;
  const StoredTensor stored = stored_tensor(store.content(id));
  const bool is_in_file = stored.raw && stored.raw->data() >= store.file().data()
                          && stored.raw->data() < store.file().data() + store.file().size();
  if (own_file && is_in_file && stored.raw->size() > kSmall)
    append_bytes(graph, 5, as_own_file(store, store.content(id).fields, *stored.raw));
  else
    graph += store.record(id);
}

void append_node(std::string& graph, const Store& store, Id id) {
  append_bytes(graph, 1, with_name(store.message(id), 3, engine_name(id)));
}

std::string model_bytes(const Store& store, const EngineModel& model) {
  std::string graph;
  for (const Id id : model.nodes) append_node(graph, store, id);
  append_bytes(graph, 2, "graph");
  const bool own_file = is_own_file_readable(store);
  for (const Id id : model.initializers) append_initializer(graph, store, id, own_file);
  for (const std::string& input : model.inputs) append_bytes(graph, 11, input);
  for (const std::string& output : model.outputs) append_bytes(graph, 12, output);
  std::string bytes;
  append_number(bytes, 1, static_cast<uint64_t>(number_field(store.file(), 1)));
  append_bytes(bytes, 7, graph);
  for (const Kind kind : {Kind::kOpset, Kind::kFunction})
    for (const Id id : store.items(0, kind)) bytes += store.record(id);
  return bytes;
}

bool is_inexact(const TensorType& type) {
  return !is_exact(type.element);
}

bool makes_inexact(const NodeContent& node) {
  for (const char* attribute : {"to", "dtype", "output_dtype"})
    if (node.find(attribute) != nullptr)
      return !is_exact(static_cast<int32_t>(integer_attribute(node, attribute, kFloat32)));
  const AttributeContent* value = node.find("value");
  const std::string_view tensor =
      value == nullptr ? std::string_view() : bytes_field(value->bytes, 5);
  return !tensor.empty() && !is_exact(static_cast<int32_t>(number_field(tensor, 2)));
}

}  // namespace

const std::vector<tenon::Value*>* Imported::outputs_of(Id node) const {
  const auto found = report.node_outputs.find(engine_name(node));
  return found == report.node_outputs.end() ? nullptr : &found->second;
}

void import_nodes(Store& store, const EngineModel& model, Imported& imported) {
  ImportOptions options;
  options.model_path = store.path();
  options.max_nodes = std::max(options.max_nodes, 2 * model.nodes.size() + 1000);
  const std::string bytes = model_bytes(store, model);
  try {
    import_onnx(std::as_bytes(std::span(bytes)), options, imported.network, imported.report);
  } catch (const Error&) {  // what could be imported is there
  }
  try {
    imported.network.infer_if_touched();
  } catch (const Error& e) {
    imported.problem = e.what();
  }
}

std::unordered_set<std::string_view> inexact_values(const Store& store) {
  std::unordered_set<std::string_view> names;
  for (const Id id : store.items(store.graph(), Kind::kInput))
    if (const auto type = tensor_type(store.content(id).fields); type && is_inexact(*type))
      names.insert(store.content(id).name);
  for (const Id id : store.items(store.graph(), Kind::kInitializer))
    if (!is_exact(static_cast<int32_t>(number_field(store.content(id).fields, 2))))
      names.insert(store.content(id).name);
  for (const Id id : store.items(store.graph(), Kind::kNode)) {
    const NodeContent& node = store.node(id);
    bool is_inexact = makes_inexact(node);
    const bool is_cast =
        node.op_type == "Cast" || node.op_type == "Shape" || node.op_type == "Size";
    if (!is_cast)
      for (const std::string_view read : reads_of(store, id)) is_inexact |= names.contains(read);
    if (is_inexact) names.insert(node.outputs.begin(), node.outputs.end());
  }
  return names;
}

}  // namespace tenon::edit
