// Prints a network: a line per layer, or JSON.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "network/network.h"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

// More known elements than this are cut short.
constexpr size_t kShownElements = 8;

std::string dims_text(const Dims& dims, std::span<const std::string> symbols) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i > 0 ? ", " : "") + text_of(dims[i], symbols);
  return s + "]";
}

// "float32[N, 3, 224, 224]", and "= [1, 2]" for elements known on the host.
std::string type_of(const Value& v, std::span<const std::string> symbols) {
  if (!v.known) return "?";
  std::string s = fmt::format("{}{}", name_of(v.type), dims_text(v.dims, symbols));
  if (!v.content || v.content->size() > kShownElements) return s;
  return s + " = " + dims_text(*v.content, symbols);
}

std::string text_of_input(const Value* v, std::span<const std::string> symbols) {
  if (v == nullptr) return "-";
  return v->is_weight() ? v->name + " " + type_of(*v, symbols) : v->name;
}

std::string line_of(const Node& node, std::span<const std::string> symbols) {
  std::string s = fmt::format("{}: {}(", node.name, node.op->name());
  for (size_t i = 0; i < node.inputs.size(); ++i)
    s += (i > 0 ? ", " : "") + text_of_input(node.inputs[i], symbols);
  s += ") ->";
  for (size_t i = 0; i < node.outputs.size(); ++i)
    s += fmt::format("{} {}: {}", i > 0 ? "," : "", node.outputs[i]->name,
                     type_of(*node.outputs[i], symbols));
  const FieldList fields = fields_of(*node.op);
  if (!fields.empty()) s += " {";
  for (size_t i = 0; i < fields.size(); ++i)
    s += fmt::format("{}{}={}", i > 0 ? ", " : "", fields[i].first, text_of(fields[i].second));
  return fields.empty() ? s : s + "}";
}

Json json_of(const Value& v, std::span<const std::string> symbols) {
  Json j{{"name", v.name}};
  if (!v.known) return j;
  j["type"] = name_of(v.type);
  Json& shape = j["shape"] = Json::array();
  for (Dim d : v.dims) {
    if (d->is_integer_constant())
      shape.push_back(d->value.integer);
    else
      shape.push_back(text_of(d, symbols));
  }
  return j;
}

Json json_of(const Node& node, std::span<const std::string> symbols) {
  Json j{{"name", node.name}, {"kind", node.op->name()}};
  Json& inputs = j["inputs"] = Json::array();
  for (const Value* in : node.inputs) {
    inputs.push_back(in == nullptr ? Json() : json_of(*in, symbols));
    if (in != nullptr && in->is_weight()) inputs.back()["weight"] = true;
  }
  Json& outputs = j["outputs"] = Json::array();
  for (const Value* out : node.outputs) outputs.push_back(json_of(*out, symbols));
  Json& attributes = j["attributes"] = Json::object();
  for (const auto& [name, value] : fields_of(*node.op))
    std::visit([&, &key = name](const auto& v) { attributes[key] = v; }, value);
  if (!node.metadata.empty()) j["metadata"] = node.metadata;
  return j;
}

}  // namespace

std::string dump(const Network& network) {
  const std::vector<std::string> symbols = network.symbol_names();
  std::string text;
  const auto add = [&](std::string_view line) { text += one_line(line) + "\n"; };
  add(fmt::format("network {}", network.name));
  for (const Value* v : network.inputs())
    add(fmt::format("input {}: {}", v->name, type_of(*v, symbols)));
  for (const Node* node : network.sorted()) add(line_of(*node, symbols));
  for (const Value* v : network.outputs())
    add(fmt::format("output {}: {}", v->name, type_of(*v, symbols)));
  return text;
}

std::string dump_json(const Network& network) {
  const std::vector<std::string> symbols = network.symbol_names();
  Json j{{"name", network.name}};
  for (const char* border : {"inputs", "outputs"}) {
    Json& list = j[border] = Json::array();
    for (const Value* v : border[0] == 'i' ? network.inputs() : network.outputs())
      list.push_back(json_of(*v, symbols));
  }
  Json& layers = j["layers"] = Json::array();
  for (const Node* node : network.sorted()) layers.push_back(json_of(*node, symbols));
  // Names need not be UTF-8; JSON must be.
  return j.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenon
