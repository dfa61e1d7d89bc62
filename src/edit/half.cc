// A model in float16: tensors and operators that take it, with casts around those that do not.
#include "base/half.h"

#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ranges>
#include <set>

#include "base/error.h"
#include "edit/attributes.h"
#include "edit/graph_uses.h"
#include "edit/shapes.h"
#include "edit/undone.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

constexpr float kLargestHalf = 65504;

// Operators that stay in float32: they count, choose, or take scales, have graphs inside, or are
// not defined for float16.
const std::set<std::string_view>& kept_operators() {
  static const std::set<std::string_view> names = {"NonMaxSuppression",
                                                   "Resize",
                                                   "Upsample",
                                                   "Range",
                                                   "TopK",
                                                   "CumSum",
                                                   "RandomNormal",
                                                   "RandomUniform",
                                                   "RandomNormalLike",
                                                   "RandomUniformLike",
                                                   "Multinomial",
                                                   "QuantizeLinear",
                                                   "DequantizeLinear",
                                                   "RoiAlign",
                                                   "GridSample",
                                                   "If",
                                                   "Loop",
                                                   "Scan",
                                                   "DynamicQuantizeLinear",
                                                   "Bernoulli",
                                                   "DFT",
                                                   "STFT",
                                                   "MelWeightMatrix",
                                                   "HannWindow",
                                                   "HammingWindow",
                                                   "BlackmanWindow",
                                                   "QLinearConv",
                                                   "QLinearMatMul",
                                                   "TfIdfVectorizer",
                                                   "Celu",
                                                   "IsInf"};
  return names;
}

// Operators that have no form in float16.
bool stays_float(const NodeContent& node) {
  if (!is_standard_node(node) || kept_operators().contains(node.op_type)) return true;
  if (node.op_type == "Constant") return node.find("sparse_value") != nullptr;
  // Its mean and deviation are float32 always.
  return node.op_type == "LayerNormalization"
         && std::ranges::any_of(node.outputs | std::views::drop(1),
                                [](std::string_view name) { return !name.empty(); });
}

class ToHalf {
 public:
  ToHalf(Store& store, const HalfOptions& options)
      : store_(store), options_(options), graph_(store.graph()), types_(infer_types(store)) {}

  HalfReport run() {
    require(opset_of(store_, 0) >= 7, "the model is of opset {}; float16 needs 7",
            opset_of(store_, 0));
    check_names();
    find_floats();
    for (const Id id : store_.items(graph_, Kind::kNode)) choose(id);
    keep_constants();
    convert_initializers();
    for (const Id id : store_.items(graph_, Kind::kNode))
      if (kept_.contains(id))
        cast_around(id);
      else
        convert(id);
    convert_border();
    for (const Id id : store_.items(graph_, Kind::kValueInfo)) store_.remove(id);
    return std::move(report_);
  }

 private:
  void check_names() const {
    std::set<std::string_view> names;
    for (const Id id : store_.items(graph_, Kind::kNode))
      names.insert({store_.content(id).name, store_.node(id).op_type});
    for (const std::string& name : options_.keep)
      require(names.contains(name), "no node has the name or operator '{}' that is to stay float32",
              printable(name));
  }

  bool is_float_value(std::string_view name) const { return floats_.contains(name); }

  void find_floats() {
    const auto note = [&](std::string_view name, std::string_view info) {
      if (const auto type = tensor_type(info); type && type->element == kFloat32)
        floats_.insert(name);
      known_.insert(name);
    };
    for (const Kind kind : {Kind::kInput, Kind::kOutput, Kind::kValueInfo})
      for (const Id id : store_.items(graph_, kind))
        note(store_.content(id).name, store_.content(id).fields);
    for (const Id id : store_.items(graph_, Kind::kInitializer)) {
      known_.insert(store_.content(id).name);
      if (number_field(store_.content(id).fields, 2) == kFloat32)
        floats_.insert(store_.content(id).name);
    }
    for (const Id id : store_.items(graph_, Kind::kNode))
      for (const std::string_view output : store_.node(id).outputs)
        if (const auto found = types_.find(std::string(output)); found != types_.end()) {
          known_.insert(output);
          if (found->second.element == kFloat32) floats_.insert(output);
        }
  }

  // Which nodes stay as they are: by operator, by name, and those of weights that do not fit.
  void choose(Id id) {
    const NodeContent& node = store_.node(id);
    const bool is_named = options_.keep.contains(std::string(store_.content(id).name))
                          || options_.keep.contains(std::string(node.op_type));
    bool stays = is_named || stays_float(node);
    for (const std::string_view output : node.outputs)
      require(output.empty() || known_.contains(output) || stays,
              "the type of '{}', an output of {}, is not known: add it to the model, or keep the "
              "node",
              printable(std::string(output)), description(store_, id));
    for (const std::string_view input : node.inputs)
      if (!stays && !input.empty() && is_float_value(input) && overflows(input)) {
        report_.kept.push_back(fmt::format("{}: '{}' has values beyond {}", description(store_, id),
                                           printable(std::string(input)), kLargestHalf));
        stays = true;
      }
    if (stays) kept_.insert(id);
  }

  // What kept nodes read of constants loses no digits.
  void keep_constants() {
    for (const Id id : store_.items(graph_, Kind::kNode)) {
      const NodeContent& node = store_.node(id);
      if (node.op_type != "Constant" || node.outputs.empty()) continue;
      for (const Id user : store_.users(graph_, node.outputs[0]))
        if (kept_.contains(user)) kept_.insert(id);
    }
  }

  bool overflows(std::string_view name) {
    const auto known = overflows_.find(name);
    if (known != overflows_.end()) return known->second;
    bool found = false;
    if (const auto tensor = constant_of(store_, graph_, name);
        tensor && tensor->type() == DataType::kFLOAT)
      for (int64_t i = 0; i < tensor->count() && !found; ++i) {
        const float value = std::fabs(tensor->data<float>()[i]);
        found = std::isfinite(value) && value > kLargestHalf;
      }
    return overflows_[name] = found;
  }

  static Tensor halved(const Tensor& floats) {
    Tensor halves(DataType::kHALF, floats.shape());
    for (int64_t i = 0; i < floats.count(); ++i)
      halves.mutable_data<Half>()[i] = Half(floats.data<float>()[i]);
    return halves;
  }

  bool is_input(std::string_view name) const {
    const Id id = store_.type_of(graph_, name);
    return id != kNone && store_.item(id).kind == Kind::kInput;
  }

  // Weights that nodes of both kinds read are there twice.
  void convert_initializers() {
    for (const Id id : store_.items(graph_, Kind::kInitializer)) {
      const std::string name(store_.content(id).name);
      if (!is_float_value(name) || is_input(name)) continue;
      std::vector<Id> halves, others;
      for (const Id user : store_.users(graph_, name)) {
        const Item& item = store_.item(user);
        const bool is_half =
            item.kind == Kind::kNode && item.container == graph_ && !kept_.contains(user);
        (is_half ? halves : others).push_back(user);
      }
      if (halves.empty()) continue;
      const Tensor tensor = halved(read_tensor(store_, store_.content(id)));
      if (others.empty()) {
        replace_tensor(store_, id, store_.keep(name), tensor);
        halves_.insert(store_.content(id).name);
        continue;
      }
      const std::string_view half = store_.new_name(name + "_float16");
      insert_tensor(store_, graph_, half, tensor);
      halves_.insert(half);
      for (const Id user : halves) replace_in_node(user, name, half);
    }
  }

  void replace_in_node(Id id, std::string_view from, std::string_view to) {
    NodeDraft draft = store_.draft(id);
    for (std::string_view& input : draft.content.inputs)
      if (input == from) input = to;
    store_.replace_node(id, std::move(draft));
  }

  Id cast(std::string_view from, std::string_view to, int64_t type, Id before) {
    NodeDraft node =
        standard_node(store_, "Cast", store_.keep(std::string(to) + "_cast"), {from}, {to});
    node.set(attribute(store_, "to", type));
    ++report_.casts;
    return store_.insert_node(graph_, std::move(node), before);
  }

  // The value in float32, by one cast for all that stay in it.
  std::string_view in_float(std::string_view name, Id before) {
    std::string_view& cast_name = casts_[name];
    if (cast_name.empty()) {
      cast_name = store_.new_name(std::string(name) + "_float32");
      cast(name, cast_name, kFloat32, before);
    }
    return cast_name;
  }

  bool is_half_value(std::string_view name) const {
    const Id producer = store_.producer(graph_, name);
    if (producer == kNone || !is_float_value(name)) return false;
    if (store_.item(producer).kind == Kind::kInitializer) return halves_.contains(name);
    if (store_.item(producer).kind == Kind::kInput && options_.keep_io) return false;
    return true;  // of nodes and inputs: all float tensors are, once casts stand behind kept nodes
  }

  void cast_around(Id id) {
    for (const std::string_view read : reads_of(store_, id)) {
      if (!is_half_value(read)) continue;
      const std::string_view as_float = in_float(read, id);
      replace_in_node(id, read, as_float);
      for (const Id user : store_.users(graph_, read))
        if (store_.item(user).kind == Kind::kNode && store_.item(user).container != graph_
            && is_inside(store_.item(user).container, id))
          replace_in_node(user, read, as_float);
    }
    NodeDraft draft = store_.draft(id);
    std::vector<std::pair<std::string_view, std::string_view>> renamed;
    for (std::string_view& output : draft.content.outputs) {
      if (output.empty() || !is_float_value(output)) continue;
      const std::string_view as_float = store_.new_name(std::string(output) + "_float32");
      renamed.emplace_back(as_float, output);
      output = as_float;
    }
    if (renamed.empty()) return;
    store_.replace_node(id, std::move(draft));
    const Id next = store_.item(id).next;
    for (const auto& [from, to] : renamed) {
      cast(from, to, kFloat16, next);
      casts_[to] = from;
    }
  }

  bool is_inside(Id container, Id node) const {
    for (; container != kNone && container != graph_;
         container = store_.container(container).parent)
      if (store_.container(container).owner == node) return true;
    return false;
  }

  // Types that attributes say.
  void convert(Id id) {
    const NodeContent& node = store_.node(id);
    ++report_.converted;
    NodeDraft draft = store_.draft(id);
    bool changed = false;
    for (const char* name : {"to", "dtype"})
      if (integer_attribute(node, name, 0) == kFloat32) {
        draft.set(attribute(store_, name, int64_t{kFloat16}));
        changed = true;
      }
    if (node.op_type == "ConstantOfShape" && node.find("value") == nullptr) {
      draft.set(attribute_of(store_, "value", TensorValue{kFloat16, {1}, std::string(2, '\0')}));
      changed = true;
    }
    if (const AttributeContent* value = node.find("value")) {
      const std::string_view tensor = bytes_field(value->bytes, 5);
      if (!tensor.empty() && number_field(tensor, 2) == kFloat32) {
        const Tensor halves = halved(read_tensor(store_, tensor));
        draft.set(attribute_of(store_, "value",
                               TensorValue{kFloat16,
                                           {halves.shape().begin(), halves.shape().end()},
                                           {halves.data<char>(), halves.bytes()}}));
        changed = true;
      }
    }
    if (node.op_type == "Constant" && node.find("value_float") != nullptr) {
      const Half half(float_attribute(node, "value_float", 0));
      draft.erase("value_float");
      draft.set(attribute_of(
          store_, "value",
          TensorValue{kFloat16, {}, {reinterpret_cast<const char*>(&half), sizeof half}}));
      changed = true;
    }
    if (node.op_type == "Constant" && node.find("value_floats") != nullptr) {
      const Tensor halves = halved(*constant_of(store_, graph_, node.outputs.at(0)));
      draft.erase("value_floats");
      draft.set(attribute_of(
          store_, "value",
          TensorValue{kFloat16, {halves.count()}, {halves.data<char>(), halves.bytes()}}));
      changed = true;
    }
    if (changed) store_.replace_node(id, std::move(draft));
  }

  void retype(Id id) {
    auto type = *tensor_type(store_.content(id).fields);
    type.element = kFloat16;
    store_.replace(id, with_type(store_.content(id).fields, type));
  }

  void convert_border() {
    const auto nodes = store_.items(graph_, Kind::kNode);
    for (const Id id : store_.items(graph_, Kind::kInput)) {
      const std::string_view name = store_.content(id).name;
      if (!is_float_value(name)) continue;
      if (!options_.keep_io) {
        retype(id);
        continue;
      }
      const std::string_view half = store_.new_name(std::string(name) + "_float16");
      for (const Id user : store_.users(graph_, name))
        if (store_.item(user).container == graph_ && store_.item(user).kind == Kind::kNode
            && !kept_.contains(user))
          replace_in_node(user, name, half);
      cast(name, half, kFloat16, nodes.empty() ? kNone : nodes.front());
    }
    for (const Id id : store_.items(graph_, Kind::kOutput)) {
      const std::string_view name = store_.content(id).name;
      const Id producer = store_.producer(graph_, name);
      if (!is_float_value(name) || producer == kNone || store_.item(producer).kind != Kind::kNode)
        continue;
      if (!options_.keep_io) {
        retype(id);
        continue;
      }
      keep_output(id, producer);
    }
  }

  // What a kept node gives needs no way through float16 to an output.
  void keep_output(Id output, Id producer) {
    const std::string_view name = store_.content(output).name;
    const std::string_view half = store_.new_name(std::string(name) + "_float16");
    NodeDraft draft = store_.draft(producer);
    for (std::string_view& each : draft.content.outputs)
      if (each == name) each = half;
    store_.replace_node(producer, std::move(draft));
    store_.replace_uses(graph_, name, half);
    const auto as_float = casts_.find(name);
    const Id kept = as_float == casts_.end() ? kNone : store_.producer(graph_, as_float->second);
    if (kept != kNone && kept_.contains(kept))
      rename_value(store_, graph_, as_float->second, name);
    else
      cast(half, name, kFloat32, kNone);
  }

  Store& store_;
  const HalfOptions& options_;
  const Id graph_;
  const Types types_;
  std::set<std::string_view> floats_, known_, halves_;
  std::set<Id> kept_;
  std::map<std::string_view, bool> overflows_;
  std::map<std::string_view, std::string_view> casts_;
  HalfReport report_;
};

}  // namespace

HalfReport to_float16(Model& model, const HalfOptions& options) {
  return undone_unless(model, [&] {
    HalfReport report = ToHalf(model.store(), options).run();
    remove_unused(model);
    return report;
  });
}

}  // namespace tenon::edit
