#include "lint/conditions.h"

#include <algorithm>
#include <cmath>

namespace tenon::lint {
namespace {

using nlohmann::json;

bool is_within(double value, const Condition& condition) {
  return (!condition.min || value >= *condition.min) && (!condition.max || value <= *condition.max);
}

bool is_named(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_near_integer(double value) {
  const double distance = std::abs(value - std::round(value));
  return distance > 0 && distance < 0.01 && std::round(value) > 0;
}

// Whether all elements of a constant are as `is` says, and for near-integers one of them is.
bool elements_hold(const std::string& tensor, const Condition& condition, const ModelView& model) {
  const auto elements = model.elements(tensor);
  if (!elements) return false;
  if (condition.element)
    return *condition.element < elements->size()
           && is_within((*elements)[*condition.element], condition);
  if (condition.is == "constant")
    return std::none_of(elements->begin(), elements->end(),
                        [](double value) { return std::isnan(value); });
  if (condition.is == "near-integers")
    return std::any_of(elements->begin(), elements->end(), is_near_integer);
  const bool are_ones = condition.is == "ones";
  return !elements->empty() && std::all_of(elements->begin(), elements->end(), [&](double value) {
    return are_ones ? value == 1 : value > 0;
  });
}

bool tensor_holds(const std::string& tensor, const Condition& condition, const ModelView& model) {
  if (condition.element || condition.is == "constant" || condition.is == "positive"
      || condition.is == "ones" || condition.is == "near-integers")
    return elements_hold(tensor, condition, model);
  const TypeView* type = model.type(tensor);
  if (type == nullptr) return false;
  if (!condition.any.empty()) return is_named(type->element, condition.any);
  if (!type->shape) return false;
  const std::vector<int64_t>& shape = *type->shape;
  if (condition.is_rank) return is_within(static_cast<double>(shape.size()), condition);
  const auto is_dynamic = [](int64_t extent) { return extent < 0; };
  if (condition.extent)
    return *condition.extent < shape.size()
           && is_dynamic(shape[*condition.extent]) == (condition.is == "dynamic");
  return std::any_of(shape.begin(), shape.end(), is_dynamic) == (condition.is == "dynamic");
}

bool is_within_rank(const std::string& tensor, const Condition& condition, const NodeView& node,
                    const ModelView& model) {
  if (!condition.within_rank_of) return true;
  const auto elements = model.elements(tensor);
  const TypeView* type = *condition.within_rank_of < node.inputs.size()
                             ? model.type(node.inputs[*condition.within_rank_of])
                             : nullptr;
  return elements && type != nullptr && type->shape && elements->size() <= type->shape->size();
}

}  // namespace

bool holds(const Condition& condition, const NodeView& node, const ModelView& model) {
  switch (condition.subject) {
    case Condition::Subject::kAttribute: {
      const auto found = node.attributes.find(condition.attribute);
      return found != node.attributes.end() && found->is_number()
             && is_within(found->get<double>(), condition);
    }
    case Condition::Subject::kReaders: {
      if (node.outputs.empty()) return false;
      const auto readers = model.readers(node.outputs[0]);
      return readers && !readers->empty()
             && std::all_of(readers->begin(), readers->end(),
                            [&](const auto& name) { return is_named(name, condition.any); });
    }
    default:
      break;
  }
  const auto& tensors =
      condition.subject == Condition::Subject::kInput ? node.inputs : node.outputs;
  return condition.index < tensors.size()
         && tensor_holds(tensors[condition.index], condition, model)
         && is_within_rank(tensors[condition.index], condition, node, model);
}

std::string kind_of(const json& attribute) {
  const bool is_list = attribute.is_array();
  if (is_list && attribute.empty()) return "";
  const json& one = is_list ? attribute[0] : attribute;
  const std::string kind = one.is_number_integer() ? "int"
                           : one.is_number_float() ? "float"
                           : one.is_string()       ? "string"
                                                   : "";
  return kind.empty() || !is_list ? kind : kind + "s";
}

}  // namespace tenon::lint
