// Other shapes for inputs, static or dynamic, and what has to follow: constants that shapes of
// Reshape and Expand are.
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "edit/engine_model.h"
#include "edit/graph_uses.h"
#include "edit/inner_shapes.h"
#include "edit/shapes.h"
#include "edit/undone.h"
#include "edit/values.h"

namespace tenon::edit {
namespace {

Id input_of(const Store& store, const std::string& name) {
  for (const Id id : store.items(store.graph(), Kind::kInput))
    if (store.content(id).name == name) return id;
  fail(ErrorClass::kNotInModel, "the model has no input '{}'", printable(name));
}

TensorType type_of_input(const Store& store, Id id) {
  const auto type = tensor_type(store.content(id).fields);
  require(type.has_value() && type->has_shape, "input '{}' has no shape",
          printable(std::string(store.content(id).name)));
  return *type;
}

int64_t product(const std::vector<Extent>& shape, size_t end) {
  int64_t volume = 1;
  for (size_t i = 0; i < end; ++i) {
    if (!shape[i].is_known()) return -1;
    if (__builtin_mul_overflow(volume, shape[i].value, &volume)) return -1;  // none can be known
  }
  return volume;
}

// What is known of a value: its stored type, or what was inferred.
const std::vector<Extent>* shape_in(const Types& types, std::string_view name) {
  const auto found = types.find(name);
  return found == types.end() || !found->second.has_shape ? nullptr : &found->second.shape;
}

const Types& of_main_graph(const Store& store, const Inference& inference) {
  return inference.types.at(store.graph());
}

class Carry {
 public:
  explicit Carry(Store& store) : store_(store), before_(inferred()) {}

  /// What the engine found before and what it finds now.
  const Inference& before() const { return before_; }
  const Inference& now() const { return now_; }

  /// Changes constants so that shapes follow from the inputs that are there now, each as the engine
  /// comes to its node: what follows depends on it.
  size_t run() {
    std::map<Id, std::vector<int64_t>> targets;
    now_ = inferred([&](Id id, const std::vector<Extent>& first) {
      auto target = new_target(id, first);
      if (target) targets.emplace(id, *target);
      return target;
    });
    for (const auto& [id, target] : targets) set_target(id, target);
    return targets.size();
  }

 private:
  // What the second input of a node is to be; none where it stays.
  std::optional<std::vector<int64_t>> new_target(Id id, const std::vector<Extent>& new_in) {
    const NodeContent& node = store_.node(id);
    if (node.op_type != "Reshape" && node.op_type != "Expand") return std::nullopt;
    if (!is_standard_node(node) || node.inputs.size() < 2 || node.outputs.empty()
        || integer_attribute(node, "allowzero", 0) != 0)
      return std::nullopt;
    const auto* old_in = shape_in(of_main_graph(store_, before_), node.inputs[0]);
    const auto* old_out = shape_in(of_main_graph(store_, before_), node.outputs[0]);
    if (old_in == nullptr || old_out == nullptr || old_in->size() != new_in.size())
      return std::nullopt;
    const auto target = constant_of(store_, store_.graph(), node.inputs[1]);
    if (!target || target->type() != DataType::kINT64) return std::nullopt;
    const std::vector<int64_t> values = target->integers();
    const auto changed = node.op_type == "Reshape"
                             ? reshape_target(values, *old_in, *old_out, new_in)
                             : expand_target(values, *old_in, new_in);
    return changed == values ? std::nullopt : std::optional(changed);
  }

  Inference inferred(const SecondInput& second_input = {}) {
    Inference found = infer(store_, second_input);
    for (const Id id : store_.items(store_.graph(), Kind::kInput))
      if (const auto type = tensor_type(store_.content(id).fields))
        found.types[store_.graph()].emplace(store_.content(id).name, *type);
    return found;
  }

  // The element of the target that an axis of the data ended up in: where as many elements lie
  // before both.
  static std::optional<size_t> axis_of(const std::vector<Extent>& in, size_t axis,
                                       const std::vector<Extent>& out) {
    const int64_t before = product(in, axis);
    std::optional<size_t> found;
    for (size_t j = 0; j < out.size(); ++j) {
      if (product(out, j) != before || before < 0) continue;
      if (!out[j].is_known() || in[axis].value == 0 || out[j].value % in[axis].value != 0) continue;
      if (out[j].value == in[axis].value && j == axis) return j;
      if (!found || (out[*found].value != in[axis].value && out[j].value == in[axis].value))
        found = j;
    }
    return found;
  }

  static std::vector<int64_t> reshape_target(std::vector<int64_t> target,
                                             const std::vector<Extent>& old_in,
                                             const std::vector<Extent>& old_out,
                                             const std::vector<Extent>& new_in) {
    if (target.size() != old_out.size()) return target;
    for (size_t axis = 0; axis < old_in.size(); ++axis) {
      if (!old_in[axis].is_known() || old_in[axis] == new_in[axis]) continue;
      const auto j = axis_of(old_in, axis, old_out);
      if (!j || target[*j] == -1 || (target[*j] == 0 && *j == axis)) continue;
      if (*j == axis && old_out[*j].value == old_in[axis].value) {
        target[*j] = 0;  // as the data has it
      } else if (new_in[axis].is_known()) {
        target[*j] = old_out[*j].value / old_in[axis].value * new_in[axis].value;
      } else {
        for (size_t k = 0; k < target.size(); ++k)
          if (target[k] == -1) target[k] = old_out[k].value;
        target[*j] = -1;
      }
    }
    return target;
  }

  // 1 leaves the data's own extent.
  static std::vector<int64_t> expand_target(std::vector<int64_t> target,
                                            const std::vector<Extent>& old_in,
                                            const std::vector<Extent>& new_in) {
    for (size_t axis = 0; axis < old_in.size() && axis < target.size(); ++axis) {
      int64_t& element = target[target.size() - 1 - axis];
      const Extent& before = old_in[old_in.size() - 1 - axis];
      if (!before.is_known() || before == new_in[new_in.size() - 1 - axis]) continue;
      if (before.value == element) element = 1;
    }
    return target;
  }

  // Other readers of the constant keep theirs.
  void set_target(Id id, const std::vector<int64_t>& values) {
    NodeDraft draft = store_.draft(id);
    const std::string_view name =
        store_.new_name(std::string(draft.content.inputs[1]) + "_dynamic");
    insert_tensor(store_, store_.graph(), name, integers_tensor(values));
    draft.content.inputs[1] = name;
    store_.replace_node(id, std::move(draft));
  }

  Store& store_;
  const Inference before_;
  Inference now_;
};

// Types that were written for the shapes before.
void renew_types(Store& store, const Types& types) {
  for (const Id id : store.items(store.graph(), Kind::kValueInfo)) store.remove(id);
  for (const Id id : store.items(store.graph(), Kind::kOutput)) {
    const auto found = types.find(store.content(id).name);
    const auto stored = tensor_type(store.content(id).fields);
    if (found != types.end()) {
      TensorType type = found->second;
      // What has a name keeps it.
      if (stored && stored->has_shape && stored->shape.size() == type.shape.size())
        for (size_t i = 0; i < type.shape.size(); ++i)
          if (!type.shape[i].is_known() && !stored->shape[i].name.empty()
              && type.shape[i].name.find(' ') != std::string::npos)
            type.shape[i] = stored->shape[i];
      store.replace(id, with_type(store.content(id).fields, type));
    } else if (stored && stored->has_shape) {
      TensorType open = *stored;
      for (Extent& extent : open.shape) extent = Extent();
      store.replace(id, with_type(store.content(id).fields, open));
    }
  }
}

std::optional<int64_t> volume_of(const std::vector<Extent>* shape) {
  const int64_t volume = shape == nullptr ? -1 : product(*shape, shape->size());
  return volume < 0 ? std::nullopt : std::optional(volume);
}

// An output that grows or shrinks with the batch, and has no axis for it, mixes examples.
void require_batch(const Store& store, const Types& before, int64_t old, const Types& now,
                   int64_t batch) {
  for (const Id id : store.items(store.graph(), Kind::kOutput)) {
    const std::string_view name = store.content(id).name;
    const auto *was = shape_in(before, name), *is = shape_in(now, name);
    if (!volume_of(was) || !volume_of(is) || *volume_of(was) == *volume_of(is)) continue;
    bool has_axis = false;
    for (size_t axis = 0; axis < std::min(was->size(), is->size()); ++axis)
      has_axis = has_axis || ((*was)[axis].value == old && (*is)[axis].value == batch);
    require(has_axis,
            "the model does not work with another batch: output '{}' is {} with {}, and {} with {}",
            printable(std::string(name)), text_of(before.at(name)), old, text_of(now.at(name)),
            batch);
  }
}

// The inputs with numbers for the extents that were `old` and are open now; empty where none is.
InputShapes at_another(const Store& store, const InputShapes& shapes, const Types& before,
                       int64_t factor) {
  std::map<std::string, int64_t> named;
  InputShapes chosen;
  for (const auto& [id, shape] : shapes) {
    const auto* old = shape_in(before, store.content(id).name);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis].is_known() || !(*old)[axis].is_known()) continue;
      int64_t value = factor * (*old)[axis].value + 1;
      if (!shape[axis].name.empty()) value = named.emplace(shape[axis].name, value).first->second;
      chosen.try_emplace(id, shape).first->second[axis] = {value, ""};
    }
  }
  for (const Id id : store.items(store.graph(), Kind::kInput)) {
    const auto type = tensor_type(store.content(id).fields);
    if (named.empty() || !type || !type->has_shape) continue;
    for (Extent& extent : chosen.try_emplace(id, type->shape).first->second)
      if (const auto found = named.find(extent.name); found != named.end())
        extent = {found->second, ""};
  }
  return chosen;
}

void set_inputs(Store& store, const InputShapes& shapes) {
  for (const auto& [id, shape] : shapes) {
    TensorType type = type_of_input(store, id);
    type.shape = shape;
    store.replace(id, with_type(store.content(id).fields, type));
  }
}

// Types of outputs at these numbers. Throws where the model does not work with them.
Types checked_types(Store& store, const Inference& open, const InputShapes& chosen) {
  if (auto types = output_types_at(store, open, chosen)) return std::move(*types);
  // The import knows more, and says what is wrong.
  const size_t steps = store.journal().size();
  set_inputs(store, chosen);
  Inference found = infer(store);
  std::string text;
  for (const auto& [id, shape] : chosen)
    text += fmt::format("{}'{}' as {}", text.empty() ? "" : ", ",
                        printable(std::string(store.content(id).name)),
                        text_of(type_of_input(store, id)));
  store.undo_to(steps);
  require(found.problem.empty(), "the model does not work with these shapes, for example {}: {}",
          text, found.problem);
  return std::move(found.types[store.graph()]);
}

// What still needs the extents that the exporter saw does not show while they are open: the model
// is tried with other numbers, too.
void check_at_others(Store& store, const InputShapes& shapes, const Types& before,
                     const Inference& open, std::optional<int64_t> batch) {
  for (const int64_t factor : {1, 2}) {
    const InputShapes chosen = at_another(store, shapes, before, factor);
    if (chosen.empty()) return;
    const Types found = checked_types(store, open, chosen);
    if (batch) require_batch(store, before, *batch, found, factor * *batch + 1);
  }
}

std::vector<ChangedExtent> changed_extents(const Store& store, const InputShapes& shapes) {
  std::vector<ChangedExtent> changed;
  for (const auto& [id, shape] : shapes) {
    const std::vector<Extent> before = type_of_input(store, id).shape;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (before[axis].is_known() && before[axis] != shape[axis])
        changed.push_back({axis, before[axis].value});
  }
  return changed;
}

/// @param batch what the first extents were, if these change, all to the same.
size_t set_shapes_once(Model& model, const InputShapes& shapes, std::optional<int64_t> batch) {
  Store& store = model.store();
  Carry carry(store);
  const std::vector<ChangedExtent> changed = changed_extents(store, shapes);
  set_inputs(store, shapes);
  const size_t count = carry.run();
  const bool worked = carry.before().problem.empty();
  const Types& before = of_main_graph(store, carry.before());
  const Types& now = of_main_graph(store, carry.now());
  require(carry.now().problem.empty() || !worked, "the model does not work with these shapes: {}",
          carry.now().problem);
  const Extent first = shapes.begin()->second.empty() ? Extent() : shapes.begin()->second[0];
  if (worked && batch && first.is_known()) require_batch(store, before, *batch, now, first.value);
  require_open_inside(store, changed, carry.before(), carry.now());
  renew_types(store, now);
  renew_inner_types(store, carry.now());
  if (worked) check_at_others(store, shapes, before, carry.now(), batch);
  remove_unused(model);
  return count;
}

// Shapes that functions hold, or that calls of them are given, follow where their nodes lie in the
// main graph.
size_t set_shapes(Model& model, const InputShapes& shapes, std::optional<int64_t> batch = {}) {
  return undone_unless(model, [&] {
    const bool has_functions = !model.store().functions().empty();
    const size_t steps = model.steps();
    try {
      return set_shapes_once(model, shapes, batch);
    } catch (const Error&) {
      if (!has_functions) throw;
    }
    model.undo_to(steps);
    inline_functions(model);
    fold_constants(model, {.shapes = false});
    return set_shapes_once(model, shapes, batch);
  });
}

}  // namespace

size_t set_dims(Model& model, const std::string& input, const std::vector<Extent>& shape) {
  const Id id = input_of(model.store(), input);
  const size_t rank = type_of_input(model.store(), id).shape.size();
  require(rank == shape.size(), "input '{}' has {} dimensions; {} were given", printable(input),
          rank, shape.size());
  return set_shapes(model, {{id, shape}});
}

size_t set_dim(Model& model, const std::string& name, const Extent& extent) {
  InputShapes shapes;
  for (const Id id : model.store().items(model.store().graph(), Kind::kInput)) {
    const auto type = tensor_type(model.store().content(id).fields);
    if (!type || !type->has_shape) continue;
    std::vector<Extent> shape = type->shape;
    for (Extent& each : shape)
      if (each.name == name && !name.empty()) each = extent;
    if (shape != type->shape) shapes.emplace(id, std::move(shape));
  }
  require(!shapes.empty(), ErrorClass::kNotInModel, "no input has a dimension '{}'",
          printable(name));
  return set_shapes(model, shapes);
}

size_t set_batch(Model& model, const Extent& extent) {
  InputShapes shapes;
  std::set<int64_t> before;
  const Store& store = model.store();
  for (const Id id : store.items(store.graph(), Kind::kInput)) {
    // Before IR version 4 weights are inputs, too.
    const Id producer = store.producer(store.graph(), store.content(id).name);
    if (producer != kNone && store.item(producer).kind == Kind::kInitializer) continue;
    std::vector<Extent> shape = type_of_input(store, id).shape;
    if (shape.empty()) continue;
    before.insert(shape[0].value);
    shape[0] = extent;
    shapes.emplace(id, std::move(shape));
  }
  require(!shapes.empty(), ErrorClass::kNotInModel,
          "no input has a dimension that can be the batch");
  const bool is_one = before.size() == 1 && *before.begin() >= 0;
  return set_shapes(model, shapes, is_one ? std::optional(*before.begin()) : std::nullopt);
}

}  // namespace tenon::edit
