// Operators that an earlier opset does not have, or has with less, said by others.
#include <algorithm>
#include <cmath>
#include <limits>

#include "edit/attributes.h"
#include "edit/graph_uses.h"
#include "edit/opset_nodes.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {

// Its groups are channels of an InstanceNormalization. Before 21, scale and bias were of groups.
void Downgrade::group_normalization() {
  const std::string_view x = node().inputs.at(0);
  const auto rank = rank_of(x);
  if (!rank || *rank < 2) refuse("normalizes groups, and the rank of its input is not known");
  const int64_t groups = integer_attribute(node(), "num_groups", 0);
  constexpr int64_t kMaxGroups = 1 << 16;
  if (groups <= 0 || groups > kMaxGroups) refuse(fmt::format("has {} groups", groups));
  const int32_t element = element_of(x);
  if (element != kFloat32) refuse("is not known to be of float32");
  const auto filled = [&](const char* what, float value) {
    const std::vector<float> values(static_cast<size_t>(groups), value);
    return constant(what, Tensor::of<float>(DataType::kFLOAT, Shape{groups}, std::span(values)));
  };
  const bool of_channels = target_ >= 20;
  const Parts inputs = node().inputs;
  const std::string_view shape = put("Shape", {x});
  const std::string_view rows =
      put("Reshape", {x, constant("groups", integers_tensor({0, groups, -1}))});
  const std::vector<AttributeContent> epsilon = {
      attribute_of(store_, "epsilon", float_attribute(node(), "epsilon", 1e-5F))};
  const std::string_view normal =
      of_channels
          ? put("InstanceNormalization", {rows, filled("one", 1), filled("zero", 0)}, epsilon)
          : put("InstanceNormalization", {rows, inputs.at(1), inputs.at(2)}, epsilon);
  if (!of_channels) return become("Reshape", {normal, shape});
  std::vector<int64_t> broadcast(*rank, 1);
  broadcast[1] = -1;
  const std::string_view as_channels = constant("channels", integers_tensor(broadcast));
  const std::string_view back = put("Reshape", {normal, shape});
  const std::string_view scaled = put("Mul", {back, put("Reshape", {inputs.at(1), as_channels})});
  become("Add", {scaled, put("Reshape", {inputs.at(2), as_channels})});
}

void Downgrade::layer_normalization() {
  const Parts inputs = node().inputs;
  for (size_t i = 1; i < node().outputs.size(); ++i)
    if (!node().outputs[i].empty()) refuse("also gives its mean or deviation");
  const auto rank = rank_of(inputs.at(0));
  int64_t axis = integer_attribute(node(), "axis", -1);
  if (!rank && axis != -1) refuse("normalizes axes, and the rank of its input is not known");
  if (axis >= 0) axis -= static_cast<int64_t>(*rank);
  if (axis >= 0 || (rank && axis < -static_cast<int64_t>(*rank))) refuse("has no such axis");
  std::vector<int64_t> axes;
  for (int64_t each = axis; each < 0; ++each)
    axes.push_back(rank ? each + static_cast<int64_t>(*rank) : each);
  const std::vector<AttributeContent> over = {attribute(store_, "axes", axes)};
  const float epsilon = float_attribute(node(), "epsilon", 1e-5F);
  const std::string_view small = number("epsilon", epsilon);
  const std::string_view centred = put("Sub", {inputs[0], put("ReduceMean", {inputs[0]}, over)});
  const std::string_view variance = put("ReduceMean", {put("Mul", {centred, centred})}, over);
  const std::string_view deviation = put("Sqrt", {put("Add", {variance, small})});
  const std::string_view normal = put("Div", {centred, deviation});
  if (inputs.size() < 3 || inputs[2].empty()) return become("Mul", {normal, inputs.at(1)});
  become("Add", {put("Mul", {normal, inputs.at(1)}), inputs[2]});
}

void Downgrade::gelu() {
  const std::string_view x = node().inputs.at(0);
  const std::string_view half = number("half", 0.5F), one = number("one", 1);
  std::string_view inner;
  if (text_attribute(node(), "approximate", "none") == "none") {
    inner = put("Erf", {put("Mul", {x, number("factor", std::sqrt(0.5F))})});
  } else {
    const std::string_view cube = put("Mul", {put("Mul", {x, x}), x});
    const std::string_view sum = put("Add", {x, put("Mul", {cube, number("cubic", 0.044715F)})});
    inner = put("Tanh", {put("Mul", {sum, number("factor", 0.7978845608F)})});
  }
  become("Mul", {put("Mul", {x, half}), put("Add", {inner, one})});
}

void Downgrade::mish() {
  const std::string_view x = node().inputs.at(0);
  become("Mul", {x, put("Tanh", {put("Softplus", {x})})});
}

void Downgrade::hard_swish() {
  const std::string_view x = node().inputs.at(0);
  const std::string_view gate =
      put("HardSigmoid", {x},
          {attribute_of(store_, "alpha", 1.0F / 6), attribute_of(store_, "beta", 0.5F)});
  become("Mul", {x, gate});
}

void Downgrade::celu() {
  const float alpha = float_attribute(node(), "alpha", 1);
  const std::string_view factor = number("alpha", alpha);
  const std::string_view elu = put("Elu", {put("Div", {node().inputs.at(0), factor})});
  become("Mul", {elu, factor});
}

void Downgrade::or_equal(const char* op_type) {
  const Parts inputs = node().inputs;
  const std::string_view differs = put(op_type, inputs), same = put("Equal", inputs);
  become("Or", {differs, same});
}

// The resize of opset 10 rounds positions down, without half pixels: the same as others where an
// extent becomes a multiple of itself by repetition.
void Downgrade::resize() {
  const Parts inputs = node().inputs;
  std::vector<float> scales;
  if (const auto sizes = constant_input(3, "sizes")) {
    const TensorType* type = type_of(inputs.at(0));
    const std::vector<int64_t> extents = sizes->integers();
    if (type == nullptr || !type->has_shape || type->shape.size() != extents.size())
      refuse("has sizes, which are scales there, and the shape of its input is not known");
    for (size_t i = 0; i < extents.size(); ++i) {
      if (type->shape[i].value <= 0)
        refuse("has sizes, which are scales there, and the shape of its input is not known");
      const auto before = static_cast<double>(type->shape[i].value);
      const auto now = static_cast<double>(extents[i]);
      scales.push_back(static_cast<float>(now / before));
      if (std::floor(scales.back() * static_cast<float>(before)) != static_cast<float>(now))
        refuse("has sizes that no scales give");
    }
  } else if (const auto given = constant_input(2, "scales")) {
    for (const double scale : given->numbers()) scales.push_back(static_cast<float>(scale));
  }
  if (scales.empty()) refuse("has neither scales nor sizes");
  const std::string mode = text_attribute(node(), "mode", "nearest");
  const std::string positions =
      text_attribute(node(), "coordinate_transformation_mode", "half_pixel");
  const std::string rounding = text_attribute(node(), "nearest_mode", "round_prefer_floor");
  const bool repeats = std::ranges::all_of(
      scales, [](float scale) { return scale >= 1 && scale == std::floor(scale); });
  const bool is_same = mode == "nearest" ? (positions == "asymmetric" && rounding == "floor")
                                               || (repeats && positions.ends_with("half_pixel")
                                                   && rounding.starts_with("round"))
                                         : mode == "linear" && positions == "asymmetric";
  if (!is_same)
    refuse(fmt::format("is {} with positions '{}', which it cannot be there", mode, positions));
  for (const char* each : {"coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a",
                           "exclude_outside", "extrapolation_value"})
    erase(each);
  NodeDraft draft = store_.draft(id_);
  const Shape shape{static_cast<int64_t>(scales.size())};
  draft.content.inputs = {
      inputs[0], constant("scales", Tensor::of<float>(DataType::kFLOAT, shape, std::span(scales)))};
  store_.replace_node(id_, std::move(draft));
  forget(inputs);
}

// They and the scales may not be left out there.
void Downgrade::regions() {
  NodeDraft draft = store_.draft(id_);
  draft.content.inputs.resize(std::max<size_t>(draft.content.inputs.size(), 3));
  const Tensor nothing(DataType::kFLOAT, Shape{0});
  if (draft.content.inputs[1].empty()) draft.content.inputs[1] = constant("roi", nothing);
  if (draft.content.inputs[2].empty()) draft.content.inputs[2] = constant("scales", nothing);
  store_.replace_node(id_, std::move(draft));
}

// Before, its axis was an attribute, and none counted from behind.
void Downgrade::dft() {
  const auto given = constant_input(2, "axis");
  if (given && given->count() != 1) refuse("has several axes");
  int64_t axis = given ? given->integers()[0] : -2;
  const auto rank = rank_of(node().inputs.at(0));
  if (axis < 0 && !rank)
    refuse("counts its axis from behind, and the rank of its input is not known");
  if (axis < 0) axis += static_cast<int64_t>(*rank);
  keep_inputs(2);
  set(attribute(store_, "axis", axis));
}

void Downgrade::upsample() {
  const auto scales = constant_input(1, "scales");
  if (!scales) refuse("has no scales");
  std::vector<float> values;
  for (const double scale : scales->numbers()) values.push_back(static_cast<float>(scale));
  keep_inputs(1);
  set(attribute_of(store_, "scales", values));
}

// Before, a tensor was the only way to say it.
void Downgrade::constant_to_tensor() {
  if (node().find("value") != nullptr || node().outputs.empty()) return;
  const auto tensor = constant_of(store_, graph_, node().outputs[0]);
  if (!tensor) return;
  NodeDraft draft = store_.draft(id_);
  draft.content.attributes = {constant_attribute(store_, *tensor)};
  store_.replace_node(id_, std::move(draft));
}

// Before, it gave floats alone, and initializers are of any type.
void Downgrade::constant_to_initializer() {
  const AttributeContent* value = node().find("value");
  const int32_t given = given_element();
  const bool fits =
      given <= 0 || given >= 64 || (schema_of("Constant", target_)->output_types >> given & 1) != 0;
  if (value == nullptr || fits || node().outputs.empty()
      || store_.container(graph_).kind == Container::Kind::kFunction
      || is_output(store_, graph_, node().outputs[0]))
    return;
  const std::string_view name = node().outputs[0], tensor = bytes_field(value->bytes, 5);
  store_.remove(id_);
  insert_tensor(store_, graph_, name, tensor);
}

void Downgrade::slice() {
  if (const auto steps = constant_input(4, "steps"))
    for (const int64_t step : steps->integers())
      if (step != 1) refuse("takes steps, which it cannot there");
  const auto starts = constant_input(1, "starts"), ends = constant_input(2, "ends");
  if (!starts || !ends) refuse("has no starts or ends");
  const auto axes = constant_input(3, "axes");
  keep_inputs(1);
  set(attribute(store_, "starts", starts->integers()));
  set(attribute(store_, "ends", ends->integers()));
  if (axes) set(attribute(store_, "axes", axes->integers()));
  positive_axes();
}

void Downgrade::shape() {
  const int64_t start = integer_attribute(node(), "start", 0);
  const AttributeContent* end = node().find("end");
  if (start == 0 && end == nullptr) return erase("start");
  const std::string_view all = put("Shape", {node().inputs.at(0)});
  const std::string_view first = constant("start", integers_tensor({start}));
  const std::string_view last = constant(
      "end", integers_tensor({end == nullptr ? INT64_MAX : integer_attribute(node(), "end", 0)}));
  become("Slice", {all, first, last});
}

// Before, all axes from `axis` on were one: the same thing where it is the last.
void Downgrade::softmax() {
  const std::string_view input = node().inputs.at(0);
  const auto rank = rank_of(input);
  int64_t axis = integer_attribute(node(), "axis", -1);
  if (axis == -1 && !rank) return set(attribute(store_, "axis", axis));
  if (!rank) refuse("works along an axis, and the rank of its input is not known");
  if (axis < 0) axis += static_cast<int64_t>(*rank);
  const auto last = static_cast<int64_t>(*rank) - 1;
  if (axis == last) return set(attribute(store_, "axis", last));
  if (axis < 0 || axis > last) refuse("has no such axis");
  std::vector<int64_t> order(*rank);
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[static_cast<size_t>(axis)], order.back());
  const AttributeContent perm = attribute(store_, "perm", order);
  const std::string op(node().op_type);
  const std::string_view turned = put("Transpose", {input}, {perm});
  const std::string_view done = put(op.c_str(), {turned}, {attribute(store_, "axis", last)});
  become("Transpose", {done}, {perm});
}

// It means nothing where there is one scale.
void Downgrade::quantize_axis() {
  const TensorType* scale = node().inputs.size() < 2 ? nullptr : type_of(node().inputs[1]);
  if (scale == nullptr || !scale->has_shape || !scale->shape.empty())
    refuse("may have a scale for each channel, which it cannot there");
  erase("axis");
}

void Downgrade::bias_of_gemm() {
  if (node().inputs.size() != 2) return;
  NodeDraft draft = store_.draft(id_);
  draft.content.inputs.push_back(number("zero", 0));
  store_.replace_node(id_, std::move(draft));
}

}  // namespace tenon::edit
