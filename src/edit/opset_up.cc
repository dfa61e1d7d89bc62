// What changed from opset to opset, operator by operator, as far as it is mechanical.
#include <set>

#include "edit/attributes.h"
#include "edit/opset_nodes.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {

Upgrade::Upgrade(Store& store) : NodeConversion(store) {
  // While the model can still be imported.
  static const std::set<std::string_view> typed = {"Clip", "Pad", "Softmax", "LogSoftmax",
                                                   "Hardmax"};
  for (const Id graph : store.containers())
    for (const Id each : store.items(graph, Kind::kNode))
      if (typed.contains(store.node(each).op_type)) {
        types();
        return;
      }
}

// Rules stand where inputs, attributes, defaults or meanings changed; onnx_test.py compares them
// with ONNX's own schemas.
void Upgrade::run(Id id, int64_t opset) {
  const std::string op(store_.node(id).op_type);
  set_node(id, opset);
  switch (opset) {
    case 9:
      if (op == "Scan") refuse("has a batch and lengths, which it has no longer from then on");
      if (op == "BatchNormalization") spatial();
      if (op == "Upsample") scales_to_input();
      break;
    case 10:
      if (op == "Slice") attributes_to_inputs({"starts", "ends", "axes"});
      if (op == "TopK") attributes_to_inputs({"k"});
      if (op == "Upsample") rename("Resize");
      break;
    case 11:
      if (op == "Clip") clip();
      if (op == "Pad") pad();
      if (op == "Scatter") rename("ScatterElements");
      if (op == "Resize") resize();
      break;
    case 12:
      if (op == "Dropout") dropout();
      break;
    case 13:
      if (op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum") attributes_to_inputs({"axes"});
      if (op == "Split") attributes_to_inputs({"split"});
      if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") softmax();
      break;
    case 14:
      if (op == "BatchNormalization") without_training();
      break;
    case 16:
      if (op == "RoiAlign")
        set(text_attribute(store_, "coordinate_transformation_mode", "output_half_pixel"));
      break;
    case 18:
      if (op.starts_with("Reduce") && op != "ReduceSum") attributes_to_inputs({"axes"});
      if (op == "Split" && store_.node(id).inputs.size() < 2)
        set(attribute(store_, "num_outputs", static_cast<int64_t>(store_.node(id).outputs.size())));
      break;
    case 20:
      if (op == "GridSample") grid_sample();
      if (op == "DFT") dft();
      break;
    case 21:
      if (op == "GroupNormalization") refuse("has its scale for each channel from then on");
      break;
    default:
      break;
  }
}

void Upgrade::spatial() {
  require_values();
  if (integer_attribute(store_.node(id_), "spatial", 1) == 0)
    refuse("has its scale for each element (spatial=0), which it cannot from then on");
  NodeDraft draft = store_.draft(id_);
  draft.erase("spatial");
  store_.replace_node(id_, std::move(draft));
}

void Upgrade::without_training() {
  const auto& outputs = store_.node(id_).outputs;
  for (size_t i = 1; i < outputs.size(); ++i)
    if (!outputs[i].empty()) refuse("has outputs of training, which are others from then on");
}

void Upgrade::scales_to_input() {
  require_values();
  NodeDraft draft = store_.draft(id_);
  const AttributeContent* found = draft.content.find("scales");
  if (found == nullptr || draft.content.inputs.size() != 1) refuse("has no scales");
  const auto value = value_of(store_, *found);
  const auto* scales = std::get_if<std::vector<float>>(&value);
  if (scales == nullptr) refuse("has scales that are no list of numbers");
  const Shape shape{static_cast<int64_t>(scales->size())};
  draft.content.inputs.push_back(
      constant("scales", Tensor::of<float>(DataType::kFLOAT, shape, std::span(*scales))));
  draft.erase("scales");
  store_.replace_node(id_, std::move(draft));
}

// Integers that were attributes are inputs behind those that there are; those left out at the end
// stay out.
void Upgrade::attributes_to_inputs(std::initializer_list<const char*> names) {
  require_values();
  NodeDraft draft = store_.draft(id_);
  for (const char* name : names) {
    const AttributeContent* found = draft.content.find(name);
    if (found == nullptr) {
      draft.content.inputs.emplace_back();
      continue;
    }
    const std::string_view text = found->name;
    std::vector<int64_t> values = *integers_attribute(draft.content, text);
    if (values.empty()) values.push_back(integer_attribute(draft.content, text, 0));
    draft.content.inputs.push_back(constant(name, integers_tensor(values)));
    draft.erase(name);
  }
  while (!draft.content.inputs.empty() && draft.content.inputs.back().empty())
    draft.content.inputs.pop_back();
  store_.replace_node(id_, std::move(draft));
}

std::string_view Upgrade::float_constant(const char* what, float value) {
  if (element_of(store_.node(id_).inputs[0]) != kFloat32) refuse("is not known to be of float32");
  return constant(what, Tensor::of<float>(DataType::kFLOAT, Shape{}, std::span(&value, 1)));
}

void Upgrade::clip() {
  require_values();
  NodeDraft draft = store_.draft(id_);
  if (draft.content.inputs.size() != 1) return;
  for (const char* name : {"min", "max"}) {
    if (draft.content.find(name) == nullptr) {
      draft.content.inputs.emplace_back();
      continue;
    }
    draft.content.inputs.push_back(float_constant(name, float_attribute(draft.content, name, 0)));
    draft.erase(name);
  }
  while (draft.content.inputs.back().empty()) draft.content.inputs.pop_back();
  store_.replace_node(id_, std::move(draft));
}

void Upgrade::pad() {
  require_values();
  NodeDraft draft = store_.draft(id_);
  if (draft.content.inputs.size() != 1) return;
  const auto pads = integers_attribute(draft.content, "pads");
  if (!pads) refuse("has no pads");
  const float value = float_attribute(draft.content, "value", 0);
  draft.content.inputs.push_back(constant("pads", integers_tensor(*pads)));
  if (value != 0) draft.content.inputs.push_back(float_constant("value", value));
  draft.erase("pads");
  draft.erase("value");
  store_.replace_node(id_, std::move(draft));
}

// The resize of opset 10 rounds positions down, without half pixels.
void Upgrade::resize() {
  NodeDraft draft = store_.draft(id_);
  if (draft.content.inputs.size() != 2) return;
  const std::string_view scales = draft.content.inputs[1];
  draft.content.inputs = {draft.content.inputs[0], {}, scales};
  draft.set(text_attribute(store_, "coordinate_transformation_mode", "asymmetric"));
  if (text_attribute(draft.content, "mode", "nearest") == "nearest")
    draft.set(text_attribute(store_, "nearest_mode", "floor"));
  store_.replace_node(id_, std::move(draft));
}

void Upgrade::dropout() {
  NodeDraft draft = store_.draft(id_);
  draft.erase("ratio");  // of inference it says nothing
  store_.replace_node(id_, std::move(draft));
}

// Before, all axes from `axis` on were one; the same thing where it is the last.
void Upgrade::softmax() {
  require_values();
  NodeDraft draft = store_.draft(id_);
  if (draft.content.inputs.empty()) return;
  const auto rank = rank_of(draft.content.inputs[0]);
  int64_t axis = integer_attribute(draft.content, "axis", 1);
  if (axis == -1) return;
  if (!rank) refuse("works along several axes, if its input has them, which is not known");
  if (axis < 0) axis += static_cast<int64_t>(*rank);
  if (axis != static_cast<int64_t>(*rank) - 1) refuse("works along several axes");
  draft.set(attribute(store_, "axis", axis));
  store_.replace_node(id_, std::move(draft));
}

void Upgrade::grid_sample() {
  require_values();
  const std::string mode = text_attribute(store_.node(id_), "mode", "bilinear");
  if (mode == "bilinear" || mode == "bicubic")
    set(text_attribute(store_, "mode", mode == "bilinear" ? "linear" : "cubic"));
}

void Upgrade::dft() {
  require_values();
  NodeDraft draft = store_.draft(id_);
  const int64_t axis = integer_attribute(draft.content, "axis", 1);
  draft.content.inputs.resize(3);
  draft.content.inputs[2] =
      constant("axis", Tensor::of<int64_t>(DataType::kINT64, Shape{}, std::span(&axis, 1)));
  draft.erase("axis");
  store_.replace_node(id_, std::move(draft));
}

}  // namespace tenon::edit
