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

// Whether the numbers behind the first of a Reshape's shape hold what its input holds behind its
// first extent. Then it takes one batch alone, which is the first number. With -1 among them it
// takes others, too, and the first number may as well be one of groups.
bool has_traced_batch(const Rule& rule, const NodeView& node, const ModelView& model) {
  constexpr double kMostExact = 9007199254740992;  // 2^53
  if (node.op_type != "Reshape" || rule.fix->input >= node.inputs.size()) return false;
  const TypeView* type = model.type(node.inputs[0]);
  const auto elements = model.elements(node.inputs[rule.fix->input]);
  if (type == nullptr || !type->shape || type->shape->empty() || !elements) return false;
  const std::vector<int64_t>& shape = *type->shape;
  const bool copies_at_zero = node.attributes.value("allowzero", 0) == 0;
  double held = 1, given = 1;
  for (size_t i = 1; i < shape.size(); ++i) held *= static_cast<double>(shape[i]);
  for (size_t i = 1; i < elements->size(); ++i) {
    const bool is_copy = (*elements)[i] == 0 && copies_at_zero && i < shape.size();
    const double extent = is_copy ? static_cast<double>(shape[i]) : (*elements)[i];
    if (!(extent > 0)) return false;
    given *= extent;
  }
  return std::all_of(shape.begin() + 1, shape.end(), [](int64_t extent) { return extent > 0; })
         && held == given && held < kMostExact;
}

bool free_batch(Model& model, const Rule& rule, const Finding& finding) {
  const auto id = node_of(model, finding);
  return id && change_input(model, *id, rule.fix->input, [](double old, size_t i) {
           return i == 0 ? -1 : old;
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
  node.name += "_" + finding.tensor;
  while (model.find_node(node.name)) node.name += "_";
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
  bool is_of_model = false;  // once takes away all that it can
  bool (*is_proved)(const Rule&, const NodeView&, const ModelView&) = nullptr;  // else it always is
};
constexpr std::array kFixes{FixRow{"convert-attributes", convert_attributes},
                            FixRow{"fold-constants", fold, true},
                            FixRow{"free-batch", free_batch, false, has_traced_batch},
                            FixRow{"import-domain", import_domain},
                            FixRow{"remove-node", remove_node},
                            FixRow{"remove-unused", whole<edit::remove_unused>, true},
                            FixRow{"rename-node", rename_node},
                            FixRow{"resolve-conditions", whole<edit::resolve_conditions>, true},
                            FixRow{"set-element", set_element},
                            FixRow{"share-equal", whole<edit::share_equal>, true},
                            FixRow{"skip-node", skip_node}};

const FixRow& row_of(const Rule& rule) {
  return *std::find_if(kFixes.begin(), kFixes.end(),
                       [&](const FixRow& row) { return row.name == rule.fix->action; });
}

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

bool can_fix(const Rule& rule, const NodeView& node, const ModelView& model) {
  if (!rule.fix || node.is_inner) return false;
  const FixRow& row = row_of(rule);
  return row.is_proved == nullptr || row.is_proved(rule, node, model);
}

std::vector<Finding> apply_fix(Model& model, const Rule& rule,
                               const std::vector<Finding>& findings) {
  const FixRow& row = row_of(rule);
  if (row.is_of_model)
    return !findings.empty() && row.apply(model, rule, findings[0]) ? findings
                                                                    : std::vector<Finding>();
  std::vector<Finding> changed;
  for (const Finding& finding : findings)
    if (row.apply(model, rule, finding)) changed.push_back(finding);
  return changed;
}

}  // namespace tenon::lint
