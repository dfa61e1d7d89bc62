#include "edit/opset_nodes.h"

#include "base/error.h"
#include "base/half.h"
#include "edit/attributes.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {

void NodeConversion::refuse(const std::string& why) const {
  fail(ErrorCode::kINVALID_ARGUMENT, "{} cannot be brought to opset {}: it {}",
       description(store_, id_), target_, why);
}

void NodeConversion::set(AttributeContent value) {
  NodeDraft draft = store_.draft(id_);
  draft.set(std::move(value));
  store_.replace_node(id_, std::move(draft));
}

void NodeConversion::erase(std::string_view attribute) {
  NodeDraft draft = store_.draft(id_);
  draft.erase(attribute);
  store_.replace_node(id_, std::move(draft));
}

void NodeConversion::rename(const char* op_type) {
  NodeDraft draft = store_.draft(id_);
  draft.content.op_type = store_.keep(op_type);
  store_.replace_node(id_, std::move(draft));
}

// Constants of inner graphs lie in them; functions have no initializers.
std::string_view NodeConversion::constant(const char* what, const Tensor& tensor) {
  const NodeContent& node = store_.node(id_);
  const std::string base(node.outputs.empty() ? std::string_view("node") : node.outputs[0]);
  const std::string_view name = store_.new_name(base + "_" + what);
  if (store_.container(graph_).kind != Container::Kind::kFunction) {
    insert_tensor(store_, graph_, name, tensor);
    return name;
  }
  NodeDraft draft = standard_node(store_, "Constant", "", {}, {name});
  draft.set(constant_attribute(store_, tensor));
  store_.insert_node(graph_, std::move(draft), id_);
  return name;
}

void NodeConversion::require_values() const {
  if (has_attribute_of_function(store_.node(id_)))
    refuse("has attributes that calls of its function give: inline functions first");
}

std::string_view NodeConversion::number(const char* what, float value) {
  const int32_t element = node().inputs.empty() ? 0 : element_of(node().inputs[0]);
  if (element != kFloat32 && element != kFloat16)
    refuse("is not known to be of float32 or float16");
  if (element == kFloat32)
    return constant(what, Tensor::of<float>(DataType::kFLOAT, Shape{}, std::span(&value, 1)));
  const Half half(value);
  return constant(what, Tensor::of<Half>(DataType::kHALF, Shape{}, std::span(&half, 1)));
}

int32_t NodeConversion::given_element() const {
  const NodeContent& node = store_.node(id_);
  for (const char* attribute : {"to", "dtype", "output_dtype", "output_datatype"})
    if (node.find(attribute) != nullptr)
      return static_cast<int32_t>(integer_attribute(node, attribute, 0));
  const AttributeContent* value = node.find("value");
  const auto tensor = value == nullptr ? std::string_view() : bytes_field(value->bytes, 5);
  return tensor.empty() ? 0 : stored_tensor(tensor).type;
}

std::optional<size_t> NodeConversion::rank_of(std::string_view name) {
  const TensorType* type = type_of(name);
  return type == nullptr || !type->has_shape ? std::nullopt : std::optional(type->shape.size());
}

ValueTypes& NodeConversion::types() {
  if (!types_) types_.emplace(store_);
  return *types_;
}

}  // namespace tenon::edit
