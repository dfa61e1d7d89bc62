// Nodes that change nothing, alone or together with the node before them.
#include <tenon/onnx.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_set>

#include "edit/graph_uses.h"
#include "edit/store.h"
#include "edit/value_types.h"
#include "edit/values.h"

namespace tenon::edit {
namespace {

using OperatorNames = std::unordered_set<std::string_view>;

// They give the elements of their first input in the same order.
const OperatorNames kReshaping = {"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
// Of one input they are that input.
const OperatorNames kGathering = {"Concat", "Max", "Mean", "Min", "Sum"};

bool has_one_input(const NodeContent& node) {
  return std::ranges::count_if(node.inputs, [](auto name) { return !name.empty(); }) == 1;
}

bool has_no_effect(const NodeContent& node) {
  if (node.op_type == "Identity") return true;
  if (node.op_type == "Dropout")
    return (node.outputs.size() < 2 || node.outputs[1].empty()) && node.inputs.size() < 3
           && integer_attribute(node, "is_test", 1) != 0;
  if (node.op_type == "Transpose") {
    const auto order = integers_attribute(node, "perm");
    return order && std::ranges::is_sorted(*order);
  }
  return kGathering.contains(node.op_type) && has_one_input(node);
}

// Of one graph, or of a function, in which no types are known.
class Removal {
 public:
  Removal(Store& store, Id graph, std::optional<ValueTypes>& types)
      : store_(store), graph_(graph), types_(types) {}

  size_t run() {
    size_t count = 0;
    for (const Id id : store_.items(graph_, Kind::kNode)) {
      const NodeContent& node = store_.node(id);
      if (!is_standard_node(node) || node.inputs.empty() || node.inputs[0].empty()
          || node.outputs.empty() || node.outputs[0].empty() || has_attribute_of_function(node))
        continue;
      count += remove(id) ? 1 : 0;
    }
    return count;
  }

 private:
  bool remove(Id id) {
    const NodeContent& node = store_.node(id);
    if (has_no_effect(node) || keeps_value(node)) return bypass(id, node.inputs[0]);
    if (node.op_type == "Transpose") return join_transposes(id);
    if (node.op_type == "Slice") return join_slices(id);
    if (!kReshaping.contains(node.op_type)) return false;
    if (const std::string_view same = same_before(node); !same.empty()) return bypass(id, same);
    if (node.op_type == "Unsqueeze") return join_unsqueezes(id) || keep_reduced_axes(id);
    return node.op_type == "Reshape" && join_reshapes(id);
  }

  // The node that gives a value in this graph; null where none does.
  const NodeContent* producer(std::string_view name) const {
    const Id id = store_.producer(graph_, name);
    return id != kNone && store_.item(id).kind == Kind::kNode && is_standard_node(store_.node(id))
                   && store_.item(id).container == graph_ && !store_.node(id).inputs.empty()
                   && !has_attribute_of_function(store_.node(id))
               ? &store_.node(id)
               : nullptr;
  }

  const TensorType* type_of(std::string_view name) {
    if (!types_) types_.emplace(store_);
    return types_->type_of(graph_, name);
  }

  // Extents with the same name are the same.
  bool have_same_type(std::string_view a, std::string_view b) {
    const TensorType *one = type_of(a), *other = type_of(b);
    return one != nullptr && other != nullptr && one->has_shape && *one == *other
           && std::ranges::none_of(one->shape, [](const Extent& each) { return each == Extent(); });
  }

  // Whether a node of a shape that stays gives the elements that it reads.
  bool keeps_value(const NodeContent& node) {
    if (node.op_type == "Cast") {
      const TensorType* type = type_of(node.inputs[0]);
      return type != nullptr && type->element > 0
             && type->element == integer_attribute(node, "to", 0);
    }
    const bool may_keep =
        kReshaping.contains(node.op_type) || node.op_type == "Expand" || node.op_type == "Tile"
        || (node.op_type == "Slice" && goes_forward(node))
        || (node.op_type == "Pad" && pads_nothing(node))
        || ((node.op_type == "Resize" || node.op_type == "Upsample") && meets_elements(node))
        || is_neutral(node);
    return may_keep && have_same_type(node.inputs[0], node.outputs[0]);
  }

  // A step backwards takes all elements, too, in another order.
  bool goes_forward(const NodeContent& node) {
    if (node.inputs.size() < 5 || node.inputs[4].empty()) return true;
    const auto steps = constant_of(store_, graph_, node.inputs[4]);
    return steps && std::ranges::all_of(steps->integers(), [](int64_t step) { return step > 0; });
  }

  bool pads_nothing(const NodeContent& node) {
    auto pads = integers_attribute(node, "pads");
    if (!pads && node.inputs.size() > 1)
      if (const auto tensor = constant_of(store_, graph_, node.inputs[1]))
        pads = tensor->integers();
    return pads && std::ranges::all_of(*pads, [](int64_t pad) { return pad == 0; });
  }

  // Whether the positions of a picture of the same size are those of its elements.
  bool meets_elements(const NodeContent& node) {
    return text_attribute(node, "mode", "nearest") != "cubic"
           && text_attribute(node, "coordinate_transformation_mode", "half_pixel")
                  != "tf_crop_and_resize"
           && scales_nothing(node);
  }

  // By sizes, or by factors of 1: others may give as many elements, and put them elsewhere.
  bool scales_nothing(const NodeContent& node) {
    const size_t input = node.inputs.size() == 2 ? 1 : 2;
    if (node.inputs.size() < 2) return false;  // Upsample has them as attributes
    if (node.inputs[input].empty()) return true;
    const auto scales = constant_of(store_, graph_, node.inputs[input]);
    return scales
           && std::ranges::all_of(scales->numbers(), [](double scale) { return scale == 1; });
  }

  // Multiplied or divided by a single 1.
  bool is_neutral(const NodeContent& node) {
    if ((node.op_type != "Mul" && node.op_type != "Div") || node.inputs.size() != 2) return false;
    const auto factor = constant_of(store_, graph_, node.inputs[1]);
    return factor && factor->count() == 1 && factor->numbers()[0] == 1;
  }

  // The first of the values that nodes before this one give another shape, and this one gives the
  // shape that it had; "" for none.
  std::string_view same_before(const NodeContent& node) {
    std::string_view found;
    const NodeContent* before = producer(node.inputs[0]);
    for (size_t i = 0; i < kLongest && before != nullptr && kReshaping.contains(before->op_type);
         ++i) {
      if (have_same_type(before->inputs[0], node.outputs[0])) found = before->inputs[0];
      before = producer(before->inputs[0]);
    }
    return found;
  }

  // Of two in a row the second does what both do.
  bool join_transposes(Id id) {
    const NodeContent& node = store_.node(id);
    const NodeContent* first = producer(node.inputs[0]);
    if (first == nullptr || first->op_type != "Transpose") return false;
    auto order = integers_attribute(node, "perm"), before = integers_attribute(*first, "perm");
    if (!order || !before || order->size() != before->size()) return false;
    for (int64_t& axis : *order) {
      if (axis < 0 || axis >= static_cast<int64_t>(before->size())) return false;
      axis = (*before)[static_cast<size_t>(axis)];
    }
    if (std::ranges::is_sorted(*order)) return bypass(id, first->inputs[0]);
    NodeDraft draft = store_.draft(id);
    draft.content.inputs[0] = first->inputs[0];
    draft.set(attribute(store_, "perm", *order));
    store_.replace_node(id, std::move(draft));
    return true;
  }

  // What only changed the shape before does not matter to one that says the whole shape.
  bool join_reshapes(Id id) {
    const NodeContent& node = store_.node(id);
    const NodeContent* first = only_before(node);
    if (first == nullptr || !kReshaping.contains(first->op_type) || !has_whole_shape(node))
      return false;
    NodeDraft draft = store_.draft(id);
    draft.content.inputs[0] = first->inputs[0];
    store_.replace_node(id, std::move(draft));
    return true;
  }

  // The node that alone is read by this one's first input; null where others read it, too.
  const NodeContent* only_before(const NodeContent& node) const {
    const NodeContent* first = producer(node.inputs[0]);
    return first != nullptr && store_.users(graph_, node.inputs[0]).size() == 1 ? first : nullptr;
  }

  // An attribute, or the constant that an input is.
  std::optional<std::vector<int64_t>> integers_of(const NodeContent& node, const char* name,
                                                  size_t input) {
    auto values = integers_attribute(node, name);
    if (!values && node.inputs.size() > input && !node.inputs[input].empty())
      if (const auto tensor = constant_of(store_, graph_, node.inputs[input]);
          tensor && tensor->shape().rank() == 1)
        values = tensor->integers();
    return values;
  }

  // Each axis once, counted from the front of `value`; none where they are no such.
  std::optional<std::vector<int64_t>> front_axes(std::optional<std::vector<int64_t>> axes,
                                                 std::string_view value) {
    constexpr int64_t kMaxRank = 64;
    if (!axes || axes->empty()) return std::nullopt;
    for (int64_t& axis : *axes) {
      const TensorType* type = axis < 0 ? type_of(value) : nullptr;
      if (axis < 0 && (type == nullptr || !type->has_shape)) return std::nullopt;
      if (axis < 0) axis += static_cast<int64_t>(type->shape.size());
      if (axis < 0 || axis >= kMaxRank) return std::nullopt;
    }
    const std::set<int64_t> distinct(axes->begin(), axes->end());
    return distinct.size() == axes->size() ? axes : std::nullopt;
  }

  // As the attribute that the node has, or as an input; false for inputs in functions, which have
  // no initializers.
  bool set_integers(NodeDraft& draft, const char* name, size_t input,
                    const std::vector<int64_t>& values) {
    if (draft.content.find(name) != nullptr) {
      draft.set(attribute(store_, name, values));
      return true;
    }
    if (store_.container(graph_).kind == Container::Kind::kFunction) return false;
    const std::string_view tensor =
        store_.new_name(std::string(draft.content.outputs[0]) + "_" + name);
    insert_tensor(store_, graph_, tensor, integers_tensor(values));
    if (draft.content.inputs.size() <= input) draft.content.inputs.resize(input + 1);
    draft.content.inputs[input] = tensor;
    return true;
  }

  // The second counts the axes of what comes out.
  bool join_unsqueezes(Id id) {
    const NodeContent& node = store_.node(id);
    const NodeContent* first = only_before(node);
    if (first == nullptr || first->op_type != "Unsqueeze") return false;
    const auto last = front_axes(integers_of(node, "axes", 1), node.outputs[0]);
    const auto before = front_axes(integers_of(*first, "axes", 1), first->outputs[0]);
    if (!last || !before) return false;
    std::set<int64_t> axes(last->begin(), last->end());
    for (const int64_t axis : *before) {
      int64_t position = -1;  // of what was axis `axis` before the second put others in between
      for (int64_t passed = -1; passed < axis;)
        if (std::ranges::find(*last, ++position) == last->end()) ++passed;
      axes.insert(position);
    }
    NodeDraft draft = store_.draft(id);
    draft.content.inputs[0] = first->inputs[0];
    if (!set_integers(draft, "axes", 1, {axes.begin(), axes.end()})) return false;
    store_.replace_node(id, std::move(draft));
    return true;
  }

  // A reduction that leaves out axes, which are put back, keeps them.
  bool keep_reduced_axes(Id id) {
    const NodeContent& node = store_.node(id);
    const NodeContent* first = only_before(node);
    if (first == nullptr || !first->op_type.starts_with("Reduce")
        || integer_attribute(*first, "keepdims", 1) != 0)
      return false;
    auto added = front_axes(integers_of(node, "axes", 1), node.outputs[0]);
    auto reduced = front_axes(integers_of(*first, "axes", 1), first->inputs[0]);
    if (!added || !reduced) return false;
    std::ranges::sort(*added);
    std::ranges::sort(*reduced);
    if (*added != *reduced) return false;
    NodeDraft draft = store_.draft(store_.producer(graph_, node.inputs[0]));
    draft.name = store_.content(id).name;
    draft.content.outputs = {node.outputs[0]};
    draft.set(attribute(store_, "keepdims", int64_t{1}));
    store_.replace_node(id, std::move(draft));
    return true;
  }

  // What a Slice takes of which axes; none where it is not constant, or has attributes.
  struct Part {
    std::vector<int64_t> starts, ends, axes, steps;
  };
  std::optional<Part> part_of(const NodeContent& node) {
    if (!node.attributes.empty()) return std::nullopt;
    const auto starts = integers_of(node, "starts", 1), ends = integers_of(node, "ends", 2);
    if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
    std::vector<int64_t> all(starts->size());
    std::iota(all.begin(), all.end(), 0);
    const bool has_axes = node.inputs.size() > 3 && !node.inputs[3].empty();
    const bool has_steps = node.inputs.size() > 4 && !node.inputs[4].empty();
    const auto axes =
        front_axes(has_axes ? integers_of(node, "axes", 3) : std::optional(all), node.inputs[0]);
    const auto steps = has_steps ? integers_of(node, "steps", 4)
                                 : std::optional(std::vector<int64_t>(all.size(), 1));
    if (!axes || !steps || axes->size() != all.size() || steps->size() != all.size())
      return std::nullopt;
    return Part{*starts, *ends, *axes, *steps};
  }

  // Of different axes.
  bool join_slices(Id id) {
    const NodeContent& node = store_.node(id);
    const NodeContent* first = only_before(node);
    if (first == nullptr || first->op_type != "Slice"
        || store_.container(graph_).kind == Container::Kind::kFunction)
      return false;
    auto part = part_of(*first);
    const auto last = part ? part_of(node) : std::nullopt;
    if (!last) return false;
    for (const int64_t axis : last->axes)
      if (std::ranges::find(part->axes, axis) != part->axes.end()) return false;
    NodeDraft draft = store_.draft(id);
    draft.content.inputs[0] = first->inputs[0];
    size_t input = 1;
    for (const auto& [name, list] : {std::pair("starts", &Part::starts),
                                     {"ends", &Part::ends},
                                     {"axes", &Part::axes},
                                     {"steps", &Part::steps}}) {
      std::vector<int64_t>& values = (*part).*list;
      values.insert(values.end(), ((*last).*list).begin(), ((*last).*list).end());
      set_integers(draft, name, input++, values);
    }
    store_.replace_node(id, std::move(draft));
    return true;
  }

  bool has_whole_shape(const NodeContent& node) {
    if (integer_attribute(node, "allowzero", 0) != 0) return true;
    auto shape = integers_attribute(node, "shape");
    if (!shape && node.inputs.size() > 1)
      if (const auto tensor = constant_of(store_, graph_, node.inputs[1]))
        shape = tensor->integers();
    return shape && std::ranges::none_of(*shape, [](int64_t extent) { return extent == 0; });
  }

  // Readers of the output read the value instead; an output of the graph moves to its producer.
  bool bypass(Id id, std::string_view value) {
    const std::string_view output = store_.node(id).outputs[0];
    const Id source = store_.producer(graph_, value);
    if (source == kNone) return false;
    if (!is_output(store_, graph_, output)) {
      store_.remove(id);
      store_.replace_uses(graph_, output, value);
      return true;
    }
    const bool can_move = store_.item(source).kind == Kind::kNode
                          && store_.item(source).container == graph_
                          && !is_output(store_, graph_, value);
    if (!can_move) return false;
    store_.remove(id);
    take_name(store_, graph_, value, output);
    return true;
  }

  static constexpr size_t kLongest = 16;  // nodes in a row that are looked at
  Store& store_;
  const Id graph_;
  std::optional<ValueTypes>& types_;  // inferred when first needed
};

}  // namespace

size_t remove_without_effect(Model& model) {
  Store& store = model.store();
  std::optional<ValueTypes> types;
  size_t count = 0;
  for (const Id graph : store.containers()) count += Removal(store, graph, types).run();
  return count;
}

}  // namespace tenon::edit
