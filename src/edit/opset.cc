// A model in a later opset: what changed between opsets, operator by operator, as far as it is
// mechanical.
#include <tenon/onnx.h>

#include <cstring>
#include <limits>
#include <map>

#include "base/error.h"
#include "edit/attributes.h"
#include "edit/shapes.h"
#include "edit/undone.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

class Conversion {
 public:
  explicit Conversion(Store& store) : store_(store) {}

  void run(int64_t version) {
    const int64_t before = opset_of(store_, 0);
    require(before >= 7, "the model is of opset {}; conversion from before 7 is not supported yet",
            before);
    require(version <= kLatestOpset, "opset {} is not known; the latest here is {}", version,
            kLatestOpset);
    require(version >= before, "from opset {} back to {} is not supported yet", before, version);
    std::map<Id, int64_t> imports;  // of functions that say in what they are written
    for (const Id function : store_.functions())
      if (const int64_t own = opset_of(store_, function); own != 0) {
        require(own >= 7 && own <= version,
                "{} is written in opset {}, which cannot become {}: inline functions first",
                store_.place(function), own, version);
        imports.emplace(function, own);
      }
    int64_t first = before;
    for (const auto& [function, own] : imports) first = std::min(first, own);
    for (opset_ = first + 1; opset_ <= version; ++opset_)
      for (const Id graph : store_.containers()) {
        const auto own = imports.find(function_of(graph));
        if (opset_ <= (own == imports.end() ? before : own->second)) continue;
        graph_ = graph;
        for (const Id id : store_.items(graph, Kind::kNode))
          if (is_standard_node(store_.node(id))) upgrade(id);
      }
    for (const auto& [function, own] : imports) set_opset(store_, function, version);
    set_opset(store_, 0, version);
  }

 private:
  // The function that a graph is or lies in; kNone for those of the main graph.
  Id function_of(Id graph) const {
    while (graph != kNone && store_.container(graph).kind != Container::Kind::kFunction)
      graph = store_.container(graph).parent;
    return graph;
  }

  // Rules stand where inputs, attributes, defaults or meanings changed; onnx_test.py compares them
  // with ONNX's own schemas.
  void upgrade(Id id) {
    const std::string op(store_.node(id).op_type);
    id_ = id;
    switch (opset_) {
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
        if (op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum")
          attributes_to_inputs({"axes"});
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
          set(attribute(store_, "num_outputs",
                        static_cast<int64_t>(store_.node(id).outputs.size())));
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

  [[noreturn]] void refuse(const char* why) {
    fail(ErrorCode::kINVALID_ARGUMENT, "{} cannot be brought to opset {}: it {}",
         description(store_, id_), opset_, why);
  }

  void set(AttributeContent value) {
    NodeDraft draft = store_.draft(id_);
    draft.set(std::move(value));
    store_.replace_node(id_, std::move(draft));
  }

  void rename(const char* op_type) {
    NodeDraft draft = store_.draft(id_);
    draft.content.op_type = store_.keep(op_type);
    store_.replace_node(id_, std::move(draft));
  }

  // Constants of inner graphs lie in them; functions have no initializers.
  std::string_view constant(const char* what, const Tensor& tensor) {
    const NodeContent& node = store_.node(id_);
    const std::string base(node.outputs.empty() ? std::string_view("node") : node.outputs[0]);
    const std::string_view name = store_.new_name(base + "_" + what);
    if (store_.container(graph_).kind != Container::Kind::kFunction) {
      insert_tensor(store_, graph_, name, tensor);
      return name;
    }
    NodeDraft draft = standard_node(store_, "Constant", "", {}, {name});
    draft.set(attribute_of(store_, "value",
                           TensorValue{onnx_type_of(tensor.type()),
                                       {tensor.shape().begin(), tensor.shape().end()},
                                       {tensor.data<char>(), tensor.bytes()}}));
    store_.insert_node(graph_, std::move(draft), id_);
    return name;
  }

  // An attribute that a call of the function gives has no value here.
  void require_values() {
    for (const AttributeContent& attribute : store_.node(id_).attributes)
      if (!bytes_field(attribute.bytes, 21).empty())
        refuse("has attributes that calls of its function give: inline functions first");
  }

  void spatial() {
    require_values();
    if (integer_attribute(store_.node(id_), "spatial", 1) == 0)
      refuse("has its scale for each element (spatial=0), which it cannot from then on");
    NodeDraft draft = store_.draft(id_);
    draft.erase("spatial");
    store_.replace_node(id_, std::move(draft));
  }

  void without_training() {
    const auto& outputs = store_.node(id_).outputs;
    for (size_t i = 1; i < outputs.size(); ++i)
      if (!outputs[i].empty()) refuse("has outputs of training, which are others from then on");
  }

  void scales_to_input() {
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
  void attributes_to_inputs(std::initializer_list<const char*> names) {
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

  std::optional<int32_t> element_type(std::string_view name) {
    if (types_.empty()) types_ = infer_types(store_);
    if (const Id id = store_.type_of(graph_, name); id != kNone)
      if (const auto type = tensor_type(store_.content(id).fields)) return type->element;
    const auto found = types_.find(std::string(name));
    if (found == types_.end()) return std::nullopt;
    return found->second.element;
  }

  std::optional<size_t> rank_of(std::string_view name) {
    if (types_.empty()) types_ = infer_types(store_);
    if (const Id id = store_.type_of(graph_, name); id != kNone)
      if (const auto type = tensor_type(store_.content(id).fields); type && type->has_shape)
        return type->shape.size();
    const auto found = types_.find(std::string(name));
    if (found == types_.end() || !found->second.has_shape) return std::nullopt;
    return found->second.shape.size();
  }

  std::string_view float_constant(const char* what, float value) {
    const auto element = element_type(store_.node(id_).inputs[0]);
    if (!element || *element != kFloat32) refuse("is not known to be of float32");
    return constant(what, Tensor::of<float>(DataType::kFLOAT, Shape{}, std::span(&value, 1)));
  }

  void clip() {
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

  void pad() {
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
  void resize() {
    NodeDraft draft = store_.draft(id_);
    if (draft.content.inputs.size() != 2) return;
    const std::string_view scales = draft.content.inputs[1];
    draft.content.inputs = {draft.content.inputs[0], {}, scales};
    draft.set(text_attribute(store_, "coordinate_transformation_mode", "asymmetric"));
    if (text_attribute(draft.content, "mode", "nearest") == "nearest")
      draft.set(text_attribute(store_, "nearest_mode", "floor"));
    store_.replace_node(id_, std::move(draft));
  }

  void dropout() {
    NodeDraft draft = store_.draft(id_);
    draft.erase("ratio");  // of inference it says nothing
    store_.replace_node(id_, std::move(draft));
  }

  // Before, all axes from `axis` on were one; the same thing where it is the last.
  void softmax() {
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

  void grid_sample() {
    require_values();
    const std::string mode = text_attribute(store_.node(id_), "mode", "bilinear");
    if (mode == "bilinear" || mode == "bicubic")
      set(text_attribute(store_, "mode", mode == "bilinear" ? "linear" : "cubic"));
  }

  void dft() {
    require_values();
    NodeDraft draft = store_.draft(id_);
    const int64_t axis = integer_attribute(draft.content, "axis", 1);
    draft.content.inputs.resize(3);
    draft.content.inputs[2] =
        constant("axis", Tensor::of<int64_t>(DataType::kINT64, Shape{}, std::span(&axis, 1)));
    draft.erase("axis");
    store_.replace_node(id_, std::move(draft));
  }

  Store& store_;
  Types types_;
  Id graph_ = kNone, id_ = kNone;
  int64_t opset_ = 0;
};

}  // namespace

void convert_opset(Model& model, int64_t version) {
  undone_unless(model, [&] {
    Conversion(model.store()).run(version);
    return 0;
  });
}

}  // namespace tenon::edit
