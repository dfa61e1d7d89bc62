#include "edit/inner_shapes.h"

#include <fmt/ranges.h>
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "edit/value_types.h"
#include "edit/values.h"

namespace tenon::edit {
namespace {

// Of what a name means in a graph; null where its rank is not known.
const TensorType* ranked_type(const Store& store, const Inference& inference, Id graph,
                              std::string_view name) {
  const TensorType* type = type_in(store, inference.types, graph, name);
  return type == nullptr || !type->has_shape ? nullptr : type;
}

// What stays as it is asks for nothing.
bool is_unchanged(const Store& store, Id graph, std::string_view name, const Inference& before,
                  const Inference& now) {
  if (is_constant(store, graph, name)) return true;
  const TensorType *was = ranked_type(store, before, graph, name),
                   *is = ranked_type(store, now, graph, name);
  return was != nullptr && is != nullptr && was->shape == is->shape
         && std::ranges::all_of(is->shape, &Extent::is_known);
}

// Whether a constant shape may hold the extent, alone or multiplied with others. Every number is a
// multiple of 1: there it counts what stands at the axis.
bool may_hold(const NodeContent& node, const std::vector<int64_t>& target,
              const ChangedExtent& extent) {
  if (extent.before > 1)
    return std::ranges::any_of(target,
                               [&](int64_t each) { return each > 0 && each % extent.before == 0; });
  if (node.op_type == "Expand")
    return std::ranges::any_of(target, [](int64_t each) { return each > 1; });
  return extent.axis >= target.size() || target[extent.axis] > 0;
}

// Functions that are called from the main graph, with graphs inside them, and graphs inside it.
std::vector<Id> graphs_that_do_not_follow(const Store& store) {
  std::set<std::string_view> called;  // of any domain
  std::vector<Id> graphs;
  const std::vector<Id> containers = store.containers();
  const auto visit = [&](Id outer) {
    for (const Id graph : containers) {
      if (!store.is_inside(graph, outer)) continue;
      if (graph != store.graph()) graphs.push_back(graph);
      for (const Id id : store.items(graph, Kind::kNode)) called.insert(store.node(id).op_type);
    }
  };
  visit(store.graph());
  std::set<Id> seen;
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const Id function : store.functions()) {
      const std::string_view name = store.content(store.container(function).owner).name;
      if (!called.contains(name) || !seen.insert(function).second) continue;
      visit(function);
      is_new = true;
    }
  }
  return graphs;
}

}  // namespace

void require_open_inside(Store& store, std::span<const ChangedExtent> changed,
                         const Inference& before, const Inference& now) {
  if (changed.empty()) return;
  for (const Id graph : graphs_that_do_not_follow(store))
    for (const Id id : store.items(graph, Kind::kNode)) {
      const NodeContent& node = store.node(id);
      if ((node.op_type != "Reshape" && node.op_type != "Expand") || !is_standard_node(node)
          || node.inputs.size() < 2 || is_unchanged(store, graph, node.inputs[0], before, now))
        continue;
      const auto target = constant_of(store, graph, node.inputs[1]);
      if (!target || target->type() != DataType::kINT64) continue;
      const std::vector<int64_t> values = target->integers();
      const auto held = std::ranges::find_if(
          changed, [&](const ChangedExtent& extent) { return may_hold(node, values, extent); });
      if (held == changed.end()) continue;
      fail(ErrorCode::kINVALID_ARGUMENT,
           "the model may not work with these shapes: {} in {} has the constant shape [{}], which "
           "may hold the {} of before, and only constants of the main graph follow: bring the node "
           "there (inline, resolve-if) first",
           description(store, id), printable(store.place(graph)), fmt::join(values, ","),
           held->before);
    }
}

void renew_inner_types(Store& store, const Inference& now) {
  for (const Id graph : graphs_outside_functions(store)) {
    if (graph == store.graph()) continue;
    for (const Id id : store.items(graph, Kind::kValueInfo)) store.remove(id);
    const auto inner = now.types.find(graph);
    const bool is_found = inner != now.types.end() && !contradicts(store, graph, inner->second);
    for (const Kind kind : {Kind::kInput, Kind::kOutput})
      for (const Id id : store.items(graph, kind)) {
        const auto stored = tensor_type(store.content(id).fields);
        if (!stored || !stored->has_shape) continue;
        const auto* found =
            is_found ? ranked_type(store, now, graph, store.content(id).name) : nullptr;
        TensorType type = *stored;
        const bool has_extents = found != nullptr && found->shape.size() == type.shape.size();
        for (size_t axis = 0; axis < type.shape.size(); ++axis)
          if (type.shape[axis].is_known())
            type.shape[axis] = has_extents ? found->shape[axis] : Extent();
        if (type != *stored) store.replace(id, with_type(store.content(id).fields, type));
      }
  }
}

}  // namespace tenon::edit
