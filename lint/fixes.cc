#include "lint/fixes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "lint/conditions.h"

namespace tenon::lint {
namespace {

using edit::Model;
using edit::TensorValue;

// Changes an element of a constant: `change` gets it and its number, and says what it becomes.
template <class T>
void change_elements(TensorValue& value, const std::function<double(double, size_t)>& change) {
  for (size_t i = 0; i < value.bytes.size() / sizeof(T); ++i) {
    T element;
    std::memcpy(&element, value.bytes.data() + i * sizeof(T), sizeof(T));
    element = static_cast<T>(change(static_cast<double>(element), i));
    std::memcpy(value.bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
}

// Gives an input of a node other elements; a constant that others read, too, stays as it is.
bool change_input(Model& model, edit::NodeId id, size_t input,
                  const std::function<double(double, size_t)>& change) {
  edit::Node node = model.node(id);
  if (input >= node.inputs.size()) return false;
  const std::string name = node.inputs[input];
  auto value = model.constant(name);
  if (!value || (value->type != 1 && value->type != 7)) return false;
  if (value->type == 7)
    change_elements<int64_t>(*value, change);
  else
    change_elements<float>(*value, change);
  if (model.users(model.graph(), name).size() == 1) {
    model.set_constant(name, *value);
    return true;
  }
  std::string own = name + "_of_" + (node.outputs.empty() ? node.name : node.outputs[0]);
  while (model.constant(own)) own += "_";
  model.set_constant(own, *value);
  node.inputs[input] = own;
  model.replace_node(id, node);
  return true;
}

std::optional<edit::NodeId> node_of(const Model& model, const Finding& finding) {
  return finding.tensor.empty() ? model.find_node(finding.node)
                                : model.producer(model.graph(), finding.tensor);
}

bool set_element(Model& model, const Rule& rule, const Finding& finding) {
  const auto id = node_of(model, finding);
  return id && change_input(model, *id, rule.fix->input, [&](double value, size_t i) {
           return i == rule.fix->element ? rule.fix->value : value;
         });
}

// The first element becomes -1, or 0 where another is -1 already.
bool free_batch(Model& model, const Rule& rule, const Finding& finding) {
  const auto id = node_of(model, finding);
  if (!id) return false;
  const edit::Node node = model.node(*id);
  if (rule.fix->input >= node.inputs.size()) return false;
  const auto value = model.constant(node.inputs[rule.fix->input]);
  if (!value || value->type != 7) return false;
  const int64_t unknown = -1;
  bool has_unknown = false;
  for (size_t i = 0; i < value->bytes.size(); i += sizeof(int64_t))
    has_unknown |= std::memcmp(value->bytes.data() + i, &unknown, sizeof unknown) == 0;
  return change_input(model, *id, rule.fix->input, [&](double old, size_t i) {
    return i != 0 ? old : has_unknown ? 0 : -1;
  });
}

bool remove_node(Model& model, const Rule&, const Finding& finding) {
  const auto id = node_of(model, finding);
  if (!id) return false;
  for (const edit::Value& output : model.outputs())
    if (output.name == finding.tensor) return false;  // its name would go
  model.remove_node(*id, true);
  return true;
}

// Two casts of which the second undoes what the first widened: the second reads the first's input.
bool skip_node(Model& model, const Rule&, const Finding& finding) {
  const auto id = node_of(model, finding);
  if (!id) return false;
  const std::string input = model.node(*id).inputs.at(0);
  for (const edit::NodeId user : model.users(model.graph(), finding.tensor)) {
    edit::Node node = model.node(user);
    std::replace(node.inputs.begin(), node.inputs.end(), finding.tensor, input);
    model.replace_node(user, node);
  }
  return edit::remove_unused(model) > 0;
}

bool convert_attributes(Model& model, const Rule& rule, const Finding& finding) {
  const auto id = node_of(model, finding);
  if (!id) return false;
  edit::Node node = model.node(*id);
  const auto known = rule.attribute_kinds.find(node.op_type);
  if (known == rule.attribute_kinds.end()) return false;
  bool is_changed = false;
  for (auto& [name, value] : node.attributes) {
    const auto kind = known->second.find(name);
    if (kind == known->second.end()) continue;
    const auto* integer = std::get_if<int64_t>(&value);
    const auto* real = std::get_if<float>(&value);
    if (integer != nullptr && kind->second == "float") {
      value = static_cast<float>(*integer);
      is_changed = true;
    } else if (real != nullptr && kind->second == "int" && std::round(*real) == *real) {
      value = static_cast<int64_t>(*real);
      is_changed = true;
    }
  }
  if (is_changed) model.replace_node(*id, node);
  return is_changed;
}

bool rename_node(Model& model, const Rule&, const Finding& finding) {
  const auto id = node_of(model, finding);
  if (!id) return false;
  edit::Node node = model.node(*id);
  const std::string name = node.name;
  for (int i = 1; model.find_node(node.name); ++i) node.name = name + "_" + std::to_string(i);
  model.replace_node(*id, node);
  return true;
}

bool import_domain(Model& model, const Rule&, const Finding& finding) {
  const auto id = node_of(model, finding);
  if (!id) return false;
  const std::string domain = model.node(*id).domain;
  if (domain.empty() || domain == "ai.onnx") return false;  // nobody knows which version
  model.set_opset(1, domain);
  return true;
}

template <size_t (*kChange)(Model&)> bool whole(Model& model, const Rule&, const Finding&) {
  return kChange(model) > 0;
}

bool fold(Model& model, const Rule&, const Finding&) {
  return edit::fold_constants(model) > 0;
}

struct FixRow {
  std::string_view name;
  bool (*apply)(Model&, const Rule&, const Finding&);
};
constexpr std::array kFixes{FixRow{"convert-attributes", convert_attributes},
                            FixRow{"fold-constants", fold},
                            FixRow{"free-batch", free_batch},
                            FixRow{"import-domain", import_domain},
                            FixRow{"remove-node", remove_node},
                            FixRow{"remove-unused", whole<edit::remove_unused>},
                            FixRow{"rename-node", rename_node},
                            FixRow{"resolve-conditions", whole<edit::resolve_conditions>},
                            FixRow{"set-element", set_element},
                            FixRow{"share-equal", whole<edit::share_equal>},
                            FixRow{"skip-node", skip_node}};

}  // namespace

bool is_fix(const std::string& name) {
  return std::any_of(kFixes.begin(), kFixes.end(),
                     [&](const FixRow& fix) { return fix.name == name; });
}

std::vector<std::string> fix_names() {
  std::vector<std::string> names;
  for (const FixRow& fix : kFixes) names.emplace_back(fix.name);
  return names;
}

bool apply_fix(Model& model, const Rule& rule, const Finding& finding) {
  return std::find_if(kFixes.begin(), kFixes.end(),
                      [&](const FixRow& fix) { return fix.name == rule.fix->action; })
      ->apply(model, rule, finding);
}

}  // namespace tenon::lint
