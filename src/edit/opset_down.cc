// Nodes in the opset before theirs, operator by operator; what it cannot say is refused.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "edit/attributes.h"
#include "edit/opset_nodes.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

// A default as a schema says it, beside the value that a node has.
bool is_default(Store& store, const AttributeContent& attribute, std::string_view text) {
  const AttributeValue value = value_of(store, attribute);
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer) == text;
  if (const auto* word = std::get_if<std::string>(&value)) return *word == text;
  if (const auto* number = std::get_if<float>(&value)) {
    double expected = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
    return error == std::errc() && end == text.data() + text.size()
           && static_cast<float>(expected) == *number;
  }
  return false;
}

// Lists that mean nothing: dilations of 1.
bool is_all_ones(Store& store, const AttributeContent& attribute) {
  const AttributeValue value = value_of(store, attribute);
  const auto* list = std::get_if<std::vector<int64_t>>(&value);
  return list != nullptr && std::ranges::all_of(*list, [](int64_t each) { return each == 1; });
}

}  // namespace

Downgrade::Downgrade(Store& store) : NodeConversion(store) {
  types();  // while the model can still be imported
}

void Downgrade::run(Id id, int64_t opset) {
  set_node(id, opset);
  const std::string op(node().op_type);
  require_values();
  if (const OperatorSchema* schema = schema_of(op, opset + 1);
      schema != nullptr && node().inputs.size() < static_cast<size_t>(schema->min_inputs))
    refuse(fmt::format("has {} inputs, and needs {}", node().inputs.size(), schema->min_inputs));
  if (opset >= 13)
    convert_from_14_on(op);
  else
    convert(op);
  if (store_.item(id).is_linked) check();
}

void Downgrade::convert_from_14_on(std::string_view op) {
  const bool is_axes_reduction = op.starts_with("Reduce") && op != "ReduceSum";
  switch (target_) {
    case 20:
      if (op == "GroupNormalization") group_normalization();
      break;
    case 19:
      if (op == "Gelu") gelu();
      if (op == "GridSample") {
        const std::string mode = text_attribute(node(), "mode", "linear");
        if (mode == "linear" || mode == "cubic")
          set(text_attribute(store_, "mode", mode == "linear" ? "bilinear" : "bicubic"));
      }
      if (op == "DFT") dft();
      break;
    case 18:
      if (op == "Resize") require_default("coordinate_transformation_mode", "half_pixel_symmetric");
      if (op == "Pad") require_default("mode", "wrap");
      break;
    case 17:
      if (is_axes_reduction) axes_to_attribute();
      if (op == "Split") split();
      if (op == "Pad") pad_axes();
      if (op == "Mish") mish();
      if (op == "GroupNormalization") group_normalization();
      if (op == "ScatterElements" || op == "ScatterND")
        for (const char* reduction : {"max", "min"}) require_default("reduction", reduction);
      break;
    case 16:
      if (op == "LayerNormalization") layer_normalization();
      break;
    case 15:
      if (op == "RoiAlign") {
        if (text_attribute(node(), "coordinate_transformation_mode", "half_pixel")
            != "output_half_pixel")
          refuse("shifts its positions by half a pixel, which it does not there");
        erase("coordinate_transformation_mode");
      }
      break;
    case 14:
      if (op == "Shape") shape();
      break;
    case 13:
      if (op == "HardSwish") hard_swish();
      break;
    default:
      break;
  }
}

void Downgrade::convert(std::string_view op) {
  switch (target_) {
    case 12:
      if (op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum") axes_to_attribute();
      if (op == "Split") inputs_to_attributes({"split"});
      if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") softmax();
      if (op == "Resize") regions();
      if (op == "QuantizeLinear" || op == "DequantizeLinear") quantize_axis();
      break;
    case 11:
      if (op == "Dropout") dropout();
      if (op == "GreaterOrEqual") or_equal("Greater");
      if (op == "LessOrEqual") or_equal("Less");
      if (op == "Celu") celu();
      if (op == "Constant") constant_to_tensor();
      break;
    case 10:
      if (op == "Clip") clip();
      if (op == "Pad") pad();
      if (op == "ScatterElements") rename("Scatter");
      if (op == "Resize") resize();
      if (op == "Gemm") bias_of_gemm();
      positive_axes();
      break;
    case 9:
      if (op == "Slice") slice();
      if (op == "TopK") inputs_to_attributes({"k"}, true);
      if (op == "Resize") rename("Upsample");
      break;
    case 8:
      if (op == "Upsample") upsample();
      if (op == "Constant") constant_to_initializer();
      break;
    default:
      break;
  }
}

// What no rule has made fit must fit as it is.
void Downgrade::check() {
  const std::string op(node().op_type);
  const OperatorSchema* newer = schema_of(op, target_ + 1);
  const OperatorSchema* schema = schema_of(op, target_);
  if (newer == nullptr && schema == nullptr) return;  // nothing of ONNX: a plugin, say
  if (schema == nullptr) refuse("is an operator that this opset does not have");
  if (newer == nullptr) return;
  if (const int32_t given = given_element(); given > 0 && given < 64 && schema->output_types != 0
                                             && (schema->output_types >> given & 1) == 0)
    refuse(fmt::format("gives {}, which it cannot there", onnx_type_name(given)));
  check_attributes(*schema, *newer);
  check_inputs(*schema);
  if (schema->max_outputs >= 0)
    for (size_t i = static_cast<size_t>(schema->max_outputs); i < node().outputs.size(); ++i)
      if (!node().outputs[i].empty()) refuse("has an output that it does not have there");
}

void Downgrade::check_attributes(const OperatorSchema& schema, const OperatorSchema& newer) {
  std::vector<std::string_view> gone;
  for (const AttributeContent& attribute : node().attributes) {
    if (schema.default_of(attribute.name) != nullptr) continue;
    const std::string_view* text = newer.default_of(attribute.name);
    if (text == nullptr) continue;  // not of ONNX, or what a rule has just set
    if (!is_default(store_, attribute, *text) && !is_all_ones(store_, attribute))
      refuse(fmt::format("has the attribute '{}', which it does not have there", attribute.name));
    gone.push_back(attribute.name);
  }
  for (const std::string_view name : gone) erase(name);
  // One that is left out, and has another default now.
  for (const auto& [name, text] : schema.attributes) {
    const std::string_view* before = newer.default_of(name);
    if (before == nullptr || *before == text || node().find(name) != nullptr || before->empty())
      continue;
    if (before->find_first_not_of("-0123456789") == std::string_view::npos)
      set(attribute(store_, std::string(name), std::stoll(std::string(*before))));
    else
      set(text_attribute(store_, std::string(name), *before));
  }
}

void Downgrade::check_inputs(const OperatorSchema& schema) {
  const auto max_inputs = static_cast<size_t>(schema.max_inputs);
  if (schema.max_inputs >= 0 && node().inputs.size() > max_inputs) {
    for (size_t i = max_inputs; i < node().inputs.size(); ++i)
      if (!node().inputs[i].empty())
        refuse(fmt::format("reads '{}' as input {}, and has {} there", node().inputs[i], i,
                           max_inputs));
    keep_inputs(max_inputs);
  }
  if (node().inputs.size() < static_cast<size_t>(schema.min_inputs))
    refuse(
        fmt::format("has {} inputs, and needs {} there", node().inputs.size(), schema.min_inputs));
  for (size_t i = 0; i < node().inputs.size() && !schema.input_types.empty(); ++i) {
    const uint64_t allowed = schema.input_types[std::min(i, schema.input_types.size() - 1)];
    const int32_t element = node().inputs[i].empty() ? 0 : element_of(node().inputs[i]);
    const bool is_allowed = element < 64 && (allowed >> element & 1) != 0;
    if (element > 0 && allowed != 0 && !is_allowed)
      refuse(fmt::format("reads '{}' of {}, which it cannot there", node().inputs[i],
                         onnx_type_name(element)));
  }
}

// A node before this one. Its result.
std::string_view Downgrade::put(const char* op_type, const Parts& inputs,
                                const std::vector<AttributeContent>& attributes) {
  const std::string base(node().outputs.empty() ? std::string_view("node") : node().outputs[0]);
  const std::string_view name = store_.new_name(base + "_" + op_type);
  NodeDraft draft = standard_node(store_, op_type, name, inputs, {name});
  for (const AttributeContent& each : attributes) draft.set(each);
  store_.insert_node(graph_, std::move(draft), id_);
  return name;
}

// This node as another one, with the same first output.
void Downgrade::become(const char* op_type, const Parts& inputs,
                       const std::vector<AttributeContent>& attributes) {
  NodeDraft draft = store_.draft(id_);
  const Parts before = std::exchange(draft.content.inputs, inputs);
  draft.content.op_type = store_.keep(op_type);
  draft.content.attributes = attributes;
  draft.content.outputs.resize(1);
  store_.replace_node(id_, std::move(draft));
  forget(before);
}

// None for one left out.
std::optional<Tensor> Downgrade::constant_input(size_t input, const char* what) {
  if (input >= node().inputs.size() || node().inputs[input].empty()) return std::nullopt;
  auto tensor = constant_of(store_, graph_, node().inputs[input]);
  if (!tensor)
    refuse(fmt::format("reads its {} from '{}', which is no constant (fold may make it one)", what,
                       node().inputs[input]));
  return tensor;
}

std::optional<float> Downgrade::float_input(size_t input, const char* what) {
  const auto tensor = constant_input(input, what);
  if (!tensor) return std::nullopt;
  if (tensor->count() != 1) refuse(fmt::format("reads {} numbers as {}", tensor->count(), what));
  return static_cast<float>(tensor->numbers()[0]);
}

void Downgrade::keep_inputs(size_t count) {
  NodeDraft draft = store_.draft(id_);
  const Parts before = draft.content.inputs;
  draft.content.inputs.resize(std::min(before.size(), count));
  store_.replace_node(id_, std::move(draft));
  forget(before);
}

// Those that nobody reads any more.
void Downgrade::forget(const Parts& constants) {
  for (const std::string_view name : constants)
    if (const Id id = name.empty() ? kNone : store_.producer(graph_, name);
        id != kNone && is_constant(store_, graph_, name)
        && !store_.has_users(store_.item(id).container, name)
        && store_.type_of(store_.item(id).container, name) == kNone)
      store_.remove(id);
}

void Downgrade::require_default(const char* attribute, std::string_view value) {
  if (text_attribute(node(), attribute) == value)
    refuse(fmt::format("has {} '{}', which it does not have there", attribute, value));
}

// Inputs behind the first are attributes. `one`: each is a single number.
void Downgrade::inputs_to_attributes(std::initializer_list<const char*> names, bool one) {
  size_t input = 0;
  for (const char* name : names) {
    const auto tensor = constant_input(++input, name);
    if (!tensor) continue;
    const std::vector<int64_t> values = tensor->integers();
    if (one && values.size() != 1) refuse(fmt::format("has {} values as {}", values.size(), name));
    set(one ? attribute(store_, name, values[0]) : attribute(store_, name, values));
  }
  keep_inputs(1);
}

void Downgrade::axes_to_attribute() {
  const bool has_axes = node().inputs.size() > 1 && !node().inputs[1].empty();
  const auto axes = constant_input(1, "axes");
  const bool is_empty = !has_axes || axes->count() == 0;
  if (is_empty && integer_attribute(node(), "noop_with_empty_axes", 0) != 0)
    return become("Identity", {node().inputs.at(0)});
  keep_inputs(1);
  if (!is_empty) set(attribute(store_, "axes", axes->integers()));
  erase("noop_with_empty_axes");
}

void Downgrade::positive_axes() {
  const bool adds = node().op_type == "Unsqueeze";
  const auto rank = node().inputs.empty() ? std::nullopt : rank_of(node().inputs[0]);
  const auto positive = [&](int64_t axis, size_t more) {
    if (axis >= 0) return axis;
    if (!rank) refuse("counts its axis from behind, and the rank of its input is not known");
    return axis + static_cast<int64_t>(*rank + more);
  };
  if (const int64_t axis = integer_attribute(node(), "axis", 0); axis < 0)
    set(attribute(store_, "axis", positive(axis, node().op_type == "OneHot" ? 1 : 0)));
  const auto axes = integers_attribute(node(), "axes");
  if (!axes || std::ranges::all_of(*axes, [](int64_t axis) { return axis >= 0; })) return;
  std::vector<int64_t> values;
  for (const int64_t axis : *axes) values.push_back(positive(axis, adds ? axes->size() : 0));
  set(attribute(store_, "axes", values));
}

void Downgrade::split() {
  const auto parts = integer_attribute(node(), "num_outputs", 0);
  erase("num_outputs");
  if (parts <= 0 || node().inputs.size() > 1) return;
  const TensorType* type = type_of(node().inputs.at(0));
  if (type == nullptr || !type->has_shape) return;
  int64_t axis = integer_attribute(node(), "axis", 0);
  if (axis < 0) axis += static_cast<int64_t>(type->shape.size());
  if (axis < 0 || axis >= static_cast<int64_t>(type->shape.size())) refuse("has no such axis");
  const int64_t extent = type->shape[static_cast<size_t>(axis)].value;
  if (parts != static_cast<int64_t>(node().outputs.size()))
    refuse(fmt::format("has {} outputs, and num_outputs of {}", node().outputs.size(), parts));
  if (extent < 0 || extent % parts == 0) return;
  const int64_t size = (extent + parts - 1) / parts;  // the last part is smaller
  std::vector<int64_t> sizes(static_cast<size_t>(parts), size);
  sizes.back() = extent - size * (parts - 1);
  if (sizes.back() < 0) refuse("has more outputs than its axis has elements");
  NodeDraft draft = store_.draft(id_);
  draft.content.inputs.push_back(constant("split", integers_tensor(sizes)));
  store_.replace_node(id_, std::move(draft));
}

void Downgrade::pad_axes() {
  const auto axes = constant_input(3, "axes");
  if (!axes) return;
  const auto pads = constant_input(1, "pads");
  const auto rank = rank_of(node().inputs.at(0));
  if (!rank || !pads) refuse("pads some axes, and the rank of its input is not known");
  std::vector<int64_t> all(2 * *rank);
  const std::vector<int64_t> given = pads->integers(), which = axes->integers();
  for (size_t i = 0; i < which.size(); ++i) {
    const int64_t axis = which[i] < 0 ? which[i] + static_cast<int64_t>(*rank) : which[i];
    if (axis < 0 || axis >= static_cast<int64_t>(*rank) || given.size() != 2 * which.size())
      refuse("has pads that do not fit its axes");
    all[static_cast<size_t>(axis)] = given[i];
    all[static_cast<size_t>(axis) + *rank] = given[i + which.size()];
  }
  NodeDraft draft = store_.draft(id_);
  draft.content.inputs.resize(3);
  draft.content.inputs[1] = constant("pads", integers_tensor(all));
  if (draft.content.inputs[2].empty()) draft.content.inputs.pop_back();
  const Parts before = node().inputs;
  store_.replace_node(id_, std::move(draft));
  forget(before);
}

void Downgrade::pad() {
  const auto pads = constant_input(1, "pads");
  if (!pads) refuse("has no pads");
  const auto value = float_input(2, "value");
  keep_inputs(1);
  set(attribute(store_, "pads", pads->integers()));
  if (value) set(attribute_of(store_, "value", *value));
}

void Downgrade::clip() {
  auto low = float_input(1, "least value");
  const auto high = float_input(2, "largest value");
  keep_inputs(1);
  if (low && high && *low > *high)
    low = high;  // all is the largest, which is not said of the attributes
  if (low) set(attribute_of(store_, "min", *low));
  if (high) set(attribute_of(store_, "max", *high));
}

// Training is the only thing that it would matter for, but for the mask, which is all true here and
// was of other types and elements before.
void Downgrade::dropout() {
  if (node().outputs.size() > 1 && !node().outputs[1].empty()) {
    if (store_.has_users(graph_, node().outputs[1]))
      refuse(fmt::format("gives the mask '{}', which is another one there", node().outputs[1]));
    NodeDraft draft = store_.draft(id_);
    draft.content.outputs.resize(1);
    store_.replace_node(id_, std::move(draft));
  }
  if (float_input(2, "training mode").value_or(0) != 0)
    refuse("drops elements at random, which it does not there");
  const bool is_known = node().inputs.size() < 2 || node().inputs[1].empty()
                        || is_constant(store_, graph_, node().inputs[1]);
  const auto ratio = is_known ? float_input(1, "ratio") : std::nullopt;
  keep_inputs(1);
  erase("seed");
  if (ratio) set(attribute_of(store_, "ratio", *ratio));
}

}  // namespace tenon::edit
