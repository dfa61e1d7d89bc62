#include "lint/view.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

namespace tenon::lint {
namespace {

using nlohmann::json;

constexpr size_t kFewElements = 64;

TypeView type_of(const json& value) {
  TypeView type;
  type.element = value.value("type", "");
  if (!value.contains("shape")) return type;
  type.shape.emplace();
  for (const json& extent : value["shape"])
    type.shape->push_back(extent.is_number_integer() ? extent.get<int64_t>() : -1);
  return type;
}

// The text between two others in a line; none where they are not there.
std::optional<std::string_view> between(std::string_view& line, std::string_view before,
                                        std::string_view after) {
  const size_t from = line.find(before);
  if (from == std::string_view::npos) return {};
  const size_t to = line.find(after, from + before.size());
  if (to == std::string_view::npos) return {};
  const std::string_view found = line.substr(from + before.size(), to - from - before.size());
  line.remove_prefix(to + after.size());
  return found;
}

std::string_view leading_digits(std::string_view text) {
  constexpr size_t kMostDigits = 7;
  const size_t count = text.find_first_not_of("0123456789");
  return text.substr(0, std::min({count, text.size(), kMostDigits}));
}

// "model.py:12" of a line `File "model.py", line 12, in forward` or `model.py(12): forward`, unless
// it is of PyTorch itself; else "".
std::string source_of_line(std::string_view line, bool is_trace) {
  std::string_view file, rest = line;
  if (is_trace) {
    const auto found = between(rest, "File \"", "\", line ");
    if (!found) return {};
    file = *found;
  } else {
    const size_t end = line.find(".py(");
    if (end == std::string_view::npos) return {};
    file = line.substr(0, end + 3);
    rest = line.substr(end + 4);
  }
  const std::string_view number = leading_digits(rest);
  const bool is_own = !file.empty() && file[0] != '<' && file.find("/torch/") == file.npos;
  return is_own && !number.empty() ? std::string(file) + ":" + std::string(number) : std::string();
}

std::string source_of_node(const json& node) {
  std::string text;
  if (const auto metadata = node.find("metadata"); metadata != node.end())
    text = metadata->value("pkg.torch.onnx.stack_trace", "");
  if (text.empty()) text = node.value("documentation", "");
  return source_of(text);
}

// Others are not read at all.
bool is_short(const std::vector<int64_t>& shape) {
  return shape.empty() || (shape.size() == 1 && shape[0] <= static_cast<int64_t>(kFewElements));
}

template <class T> std::vector<double> numbers(const std::string& bytes) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
  return values;
}

}  // namespace

// What exporters of PyTorch leave: traces have the innermost call last, the other form first.
std::string source_of(std::string_view text) {
  const bool is_trace = text.find("File \"") != std::string_view::npos;
  std::string found;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string source = source_of_line(text.substr(0, end), is_trace);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (source.empty()) continue;
    found = std::move(source);
    if (!is_trace) break;
  }
  return found;
}

ModelView::ModelView(const edit::Model& model)
    : model_(model), tree_(json::parse(edit::show_json(model, {.shapes = true}))) {
  add_graph(tree_["graph"], false, "", tree_["opsets"]);
  for (const json& function : tree_["functions"]) {
    const json& own = function["opsets"];
    add_graph(function, true, function["name"], own.empty() ? tree_["opsets"] : own);
  }
}

void ModelView::add_graph(const json& graph, bool is_inner, const std::string& function,
                          const json& opsets) {
  for (const char* kind : {"inputs", "initializers", "outputs"})
    for (const json& value : graph[kind]) {
      const std::string name = value["name"];
      if (!is_inner || !types_.contains(name)) types_[name] = type_of(value);
      if (std::strcmp(kind, "outputs") == 0) outputs_[name] = true;
    }
  for (const json& row : graph["nodes"]) {
    NodeView node{row["name"], row["operator"], row["domain"], source_of_node(row), {}, {}, {},
                  is_inner,    function,        &opsets};
    for (const json& input : row["inputs"]) {
      node.inputs.push_back(input);
      readers_[node.inputs.back()].push_back(node.op_type);
    }
    for (const json& output : row["outputs"]) {
      node.outputs.push_back(output["name"]);
      if (!is_inner || !types_.contains(node.outputs.back()))
        types_[node.outputs.back()] = type_of(output);
    }
    node.attributes = row["attributes"];
    if (!is_inner)
      for (const std::string& output : node.outputs) producers_[output] = nodes_.size();
    nodes_.push_back(node);
    for (const json& attribute : row["attributes"])
      if (attribute.is_array())
        for (const json& inner : attribute)
          if (inner.is_object()) add_graph(inner, true, function, opsets);
  }
}

const TypeView* ModelView::type(const std::string& tensor) const {
  const auto found = types_.find(tensor);
  return found == types_.end() || tensor.empty() ? nullptr : &found->second;
}

std::optional<std::vector<double>> ModelView::elements(const std::string& tensor) const {
  if (auto elements = constant(tensor)) return elements;
  const auto producer = producers_.find(tensor);
  return producer == producers_.end() ? std::nullopt : concatenation(nodes_[producer->second]);
}

// Shapes that are partly traced are such: two extents of the input, and two numbers.
std::optional<std::vector<double>> ModelView::concatenation(const NodeView& node) const {
  if (node.op_type != "Concat" || !node.domain.empty()) return {};
  std::vector<double> elements;
  for (const std::string& input : node.inputs) {
    const TypeView* type = this->type(input);
    if (const auto part = constant(input)) {
      elements.insert(elements.end(), part->begin(), part->end());
    } else {
      const bool is_known = type != nullptr && type->shape && type->shape->size() == 1
                            && (*type->shape)[0] >= 0
                            && (*type->shape)[0] <= static_cast<int64_t>(kFewElements);
      if (!is_known) return {};
      elements.resize(elements.size() + static_cast<size_t>((*type->shape)[0]), std::nan(""));
    }
    if (elements.size() > kFewElements) return {};
  }
  return elements;
}

std::optional<std::vector<double>> ModelView::constant(const std::string& tensor) const {
  const TypeView* type = this->type(tensor);
  if (tensor.empty() || (type != nullptr && type->shape && !is_short(*type->shape))) return {};
  const auto constant = model_.constant(tensor);
  if (!constant || constant->bytes.size() > kFewElements * sizeof(int64_t)) return {};
  switch (constant->type) {
    case 1:
      return numbers<float>(constant->bytes);
    case 6:
      return numbers<int32_t>(constant->bytes);
    case 7:
      return numbers<int64_t>(constant->bytes);
    case 9:
      return numbers<uint8_t>(constant->bytes);
    case 11:
      return numbers<double>(constant->bytes);
    default:
      return {};
  }
}

std::optional<std::vector<std::string>> ModelView::readers(const std::string& tensor) const {
  if (outputs_.contains(tensor)) return {};
  const auto found = readers_.find(tensor);
  return found == readers_.end() ? std::vector<std::string>() : found->second;
}

}  // namespace tenon::lint
