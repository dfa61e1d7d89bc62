// A model in float16: tensors and operators that take it, with casts around those that do not.
#include "base/half.h"

#include <tenon/onnx.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "edit/attributes.h"
#include "edit/graph_uses.h"
#include "edit/half_choice.h"
#include "edit/undone.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

Tensor halved(const Tensor& floats) {
  Tensor halves(DataType::kHALF, floats.shape());
  for (int64_t i = 0; i < floats.count(); ++i) {
    const float value = floats.data<float>()[i];
    halves.mutable_data<Half>()[i] =
        Half(std::isfinite(value) ? std::clamp(value, -kLargestHalf, kLargestHalf) : value);
  }
  return halves;
}

// Every float32 value gets a form: float16 if a converted node gives it, or all that read a
// constant are such. Inputs and outputs of bodies stay float32. Whoever wants the other form reads
// a cast, one for all of them.
class ToHalf {
 public:
  ToHalf(Store& store, const HalfOptions& options)
      : store_(store),
        options_(options),
        graphs_(graphs_outside_functions(store)),
        types_(store),
        choice_(choose_half(store, types_, options)) {}

  HalfReport run() {
    for (const Id graph : graphs_) convert_constants(graph);
    std::vector<Id> nodes;
    for (const Id graph : graphs_)
      for (const Id id : store_.items(graph, Kind::kNode)) nodes.push_back(id);
    for (const Id id : nodes)
      if (!choice_.kept.contains(id)) convert(id);
    if (!options_.keep_io) convert_inputs();
    for (const Id graph : graphs_) fit_outputs(graph);
    for (const Id id : nodes) fit_inputs(id);
    for (const Id graph : graphs_)
      for (const Id id : store_.items(graph, Kind::kValueInfo)) store_.remove(id);
    report_.kept = std::move(choice_.reasons);
    return std::move(report_);
  }

 private:
  using Name = std::pair<Id, std::string_view>;  // in the graph that defines it
  struct NameHash {
    size_t operator()(const Name& name) const {
      return std::hash<std::string_view>()(name.second) * 31 + name.first;
    }
  };

  Name meant_by(Id graph, std::string_view name) const {
    return {store_.item(store_.producer(graph, name)).container, name};
  }

  bool is_input(Id graph, std::string_view name) const {
    const Id id = store_.type_of(graph, name);
    return id != kNone && store_.item(id).kind == Kind::kInput;
  }

  void convert_constants(Id graph) {
    for (const Id id : store_.items(graph, Kind::kInitializer)) {
      const std::string_view name = store_.content(id).name;
      if (types_.is_float(graph, name)
          && (!is_input(graph, name) || is_constant(store_, graph, name)))
        convert_constant(graph, id, name);
    }
    for (const Id id : store_.items(graph, Kind::kNode))
      if (store_.node(id).op_type == "Constant" && !choice_.kept.contains(id)
          && !store_.node(id).outputs.empty() && types_.is_float(graph, store_.node(id).outputs[0]))
        convert_constant(graph, id, store_.node(id).outputs[0]);
  }

  // One that nodes of both kinds read is there twice, as what stays loses no digits.
  void convert_constant(Id graph, Id id, std::string_view name) {
    std::vector<Id> halves, others;
    for (const Id user : store_.users(graph, name))
      (store_.item(user).kind == Kind::kNode && !choice_.kept.contains(user) ? halves : others)
          .push_back(user);
    const bool is_node = store_.item(id).kind == Kind::kNode;
    if (!halves.empty() && others.empty()) {
      halves_.insert({graph, name});
      if (is_node) return;  // converted with the others
      replace_tensor(store_, id, store_.keep(std::string(name)),
                     halved(read_tensor(store_, store_.content(id))));
      if (is_input(graph, name)) retype(store_.type_of(graph, name));
      return;
    }
    if (is_node) choice_.kept.insert(id);
    if (halves.empty()) return;
    const std::string_view half = store_.new_name(std::string(name) + "_float16");
    insert_tensor(store_, graph, half, halved(*constant_of(store_, graph, name)));
    types_.add_float(graph, half);
    halves_.insert({graph, half});
    for (const Id user : halves) rename_inputs(user, {{name, half}});
  }

  void rename_inputs(Id id,
                     const std::vector<std::pair<std::string_view, std::string_view>>& names) {
    NodeDraft draft = store_.draft(id);
    for (std::string_view& input : draft.content.inputs)
      for (const auto& [from, to] : names)
        if (input == from) {
          input = to;
          break;
        }
    store_.replace_node(id, std::move(draft));
  }

  // Types that attributes say.
  void convert(Id id) {
    const Id graph = store_.item(id).container;
    const NodeContent& node = store_.node(id);
    ++report_.converted;
    for (const std::string_view output : node.outputs)
      if (types_.is_float(graph, output)) halves_.insert({graph, output});
    std::optional<NodeDraft> changed;
    const auto draft = [&]() -> NodeDraft& {
      return changed ? *changed : changed.emplace(store_.draft(id));
    };
    const auto set_value = [&](const Tensor& value) {
      draft().set(constant_attribute(store_, value));
    };
    for (const char* name : {"to", "dtype"})
      if (integer_attribute(node, name, 0) == kFloat32)
        draft().set(attribute(store_, name, int64_t{kFloat16}));
    const float zero = 0;
    if (node.op_type == "ConstantOfShape" && node.find("value") == nullptr)
      set_value(halved(Tensor::of<float>(DataType::kFLOAT, Shape{1}, std::span(&zero, 1))));
    if (const AttributeContent* value = node.find("value")) {
      const std::string_view tensor = bytes_field(value->bytes, 5);
      if (!tensor.empty() && number_field(tensor, 2) == kFloat32)
        set_value(halved(read_tensor(store_, tensor)));
    }
    for (const char* name : {"value_float", "value_floats"})
      if (node.op_type == "Constant" && !node.outputs.empty() && node.find(name) != nullptr) {
        draft().erase(name);
        set_value(halved(*constant_of(store_, graph, node.outputs.at(0))));
      }
    if (changed) store_.replace_node(id, std::move(*changed));
  }

  void retype(Id id) {
    auto type = tensor_type(store_.content(id).fields);
    if (!type) return;  // outputs may leave it open
    type->element = kFloat16;
    store_.replace(id, with_type(store_.content(id).fields, *type));
  }

  void convert_inputs() {
    const Id graph = store_.graph();
    for (const Id id : store_.items(graph, Kind::kInput)) {
      const std::string_view name = store_.content(id).name;
      if (!types_.is_float(graph, name) || is_constant(store_, graph, name)) continue;
      for (const Id initial : store_.items(graph, Kind::kInitializer))
        if (store_.content(initial).name == name)
          replace_tensor(store_, initial, store_.keep(std::string(name)),
                         halved(read_tensor(store_, store_.content(initial))));
      halves_.insert({graph, name});
      retype(id);
    }
  }

  void fit_outputs(Id graph) {
    const bool wants_half = graph == store_.graph() && !options_.keep_io;
    for (const Id id : store_.items(graph, Kind::kOutput)) {
      const std::string_view name = store_.content(id).name;
      if (!types_.is_float(graph, name)) continue;
      const Id producer = store_.producer(graph, name);
      const Item& item = store_.item(producer);
      const bool is_half = halves_.contains(meant_by(graph, name));
      if (wants_half && item.kind == Kind::kInitializer && !is_half) continue;
      if (is_half != wants_half && item.kind == Kind::kNode && item.container == graph)
        cast_behind(producer, name, wants_half);
      else if (is_half != wants_half)
        store_.replace(
            id, with_name(store_.content(id).fields, 1, cast(meant_by(graph, name), wants_half)));
      if (wants_half) retype(id);
    }
  }

  // The output's name is that of a cast, and what its node gives gets another.
  void cast_behind(Id producer, std::string_view name, bool to_half) {
    const Id graph = store_.item(producer).container;
    const std::string_view inner =
        store_.new_name(std::string(name) + (to_half ? "_float32" : "_float16"));
    NodeDraft draft = store_.draft(producer);
    for (std::string_view& output : draft.content.outputs)
      if (output == name) output = inner;
    store_.replace_node(producer, std::move(draft));
    store_.replace_uses(graph, name, inner);
    types_.add_float(graph, inner);
    halves_.erase({graph, name});
    halves_.insert({graph, to_half ? name : inner});
    insert_cast({graph, inner}, name, to_half);
  }

  void insert_cast(const Name& from, std::string_view to, bool to_half) {
    const auto [graph, name] = from;
    const Id producer = store_.producer(graph, name);
    Id before = store_.item(producer).next;
    if (store_.item(producer).kind != Kind::kNode) {
      const auto nodes = store_.items(graph, Kind::kNode);
      before = nodes.empty() ? kNone : nodes.front();
    }
    NodeDraft node =
        standard_node(store_, "Cast", store_.keep(std::string(to) + "_cast"), {name}, {to});
    node.set(attribute(store_, "to", int64_t{to_half ? kFloat16 : kFloat32}));
    store_.insert_node(graph, std::move(node), before);
    casts_[from] = to;
    ++report_.casts;
  }

  // The value in its other form.
  std::string_view cast(const Name& value, bool to_half) {
    const auto known = casts_.find(value);
    if (known != casts_.end()) return known->second;
    const std::string_view name =
        store_.new_name(std::string(value.second) + (to_half ? "_float16" : "_float32"));
    insert_cast(value, name, to_half);
    return name;
  }

  void fit_inputs(Id id) {
    const Id graph = store_.item(id).container;
    const bool wants_half = !choice_.kept.contains(id);
    std::vector<std::pair<std::string_view, std::string_view>> names;
    for (const std::string_view input : store_.node(id).inputs)
      if (!input.empty() && store_.producer(graph, input) != kNone
          && halves_.contains(meant_by(graph, input)) != wants_half
          && types_.is_float(graph, input))
        names.emplace_back(input, cast(meant_by(graph, input), wants_half));
    if (!names.empty()) rename_inputs(id, names);
  }

  Store& store_;
  const HalfOptions& options_;
  const std::vector<Id> graphs_;
  ValueTypes types_;
  HalfChoice choice_;
  std::unordered_set<Name, NameHash> halves_;  // values whose form is float16
  std::unordered_map<Name, std::string_view, NameHash> casts_;
  HalfReport report_;
};

}  // namespace

HalfReport to_float16(Model& model, const HalfOptions& options) {
  return undone_unless(model, [&] {
    Store& store = model.store();
    require(opset_of(store, 0) >= 7, "the model is of opset {}; float16 needs 7",
            opset_of(store, 0));
    HalfReport report = ToHalf(store, options).run();
    remove_unused(model);
    return report;
  });
}

}  // namespace tenon::edit
