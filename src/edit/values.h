// What records of a model hold: types of values, tensors, attributes.
#pragma once

#include <tenon/onnx.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "edit/store.h"

namespace tenon::edit {

/// ONNX's numbers of element types that are named here.
enum ElementType : int32_t {
  kFloat32 = 1,
  kInt32 = 6,
  kInt64 = 7,
  kText = 8,
  kBool = 9,
  kFloat16 = 10,
};

/// The type that a ValueInfoProto gives; none for sequences and what has no type.
std::optional<TensorType> tensor_type(std::string_view value_info);
/// A ValueInfoProto.
std::string value_info(std::string_view name, const TensorType& type);
/// The same value_info with another type, or another name.
std::string with_type(std::string_view value_info, const TensorType& type);
std::string with_name(std::string_view message, uint32_t field, std::string_view name);
/// "float32[1,3,N]".
std::string text_of(const TensorType& type);

/// A TensorProto as stored.
struct StoredTensor {
  std::string_view name;
  int32_t type = 0;
  std::vector<int64_t> dims;
  std::optional<std::string_view> raw;
  bool is_external = false;
  std::string_view location;
  uint64_t stored_bytes() const;  // by type and shape; 0 for texts
};
StoredTensor stored_tensor(std::string_view fields, std::string_view raw = {});
inline StoredTensor stored_tensor(const Content& content) {
  StoredTensor tensor = stored_tensor(content.fields);
  if (content.record.empty()) tensor.raw = content.raw;
  return tensor;
}
/// The elements, where they lie if they can; they stay valid as long as the store. Throws for
/// element types that the engine has not (is_exact() of onnx_model/tensors.h).
Tensor read_tensor(Store& store, const Content& content);
Tensor read_tensor(Store& store, std::string_view tensor_proto);
/// A TensorProto without its elements, which stand in field 9 behind it.
std::string tensor_fields(std::string_view name, int32_t type, const std::vector<int64_t>& dims);
int32_t onnx_type_of(DataType type);
int64_t ir_version(const Store& store);
/// A model of a lower IR version becomes one of this.
void raise_ir_version(Store& store, int64_t version);
/// Before IR version 4 every initializer had to be an input: such a model becomes one of version 4.
void allow_constants(Store& store);
/// The initializer of `tensor`, whose memory the store keeps.
Id insert_tensor(Store& store, Id graph, std::string_view name, const Tensor& tensor);
/// The same for a TensorProto of the model, whose elements stay where they lie.
Id insert_tensor(Store& store, Id graph, std::string_view name, std::string_view tensor_proto);
void replace_tensor(Store& store, Id initializer, std::string_view name, const Tensor& tensor);
/// A tensor of int64: a shape, say.
Tensor integers_tensor(const std::vector<int64_t>& values);

/// The constant that a name means in a graph: of an initializer that no input overrides, or a
/// Constant node; none where there is none.
std::optional<Tensor> constant_of(Store& store, Id graph, std::string_view name);
/// Whether constant_of() has one, of a type that the engine knows exactly.
bool is_constant(const Store& store, Id graph, std::string_view name);

// Attributes of nodes; the default where a node has none.
/// Whether calls of the function that the node is in give one of its attributes, which is unknown
/// there.
bool has_attribute_of_function(const NodeContent& node);
int64_t integer_attribute(const NodeContent& node, std::string_view name, int64_t otherwise);
float float_attribute(const NodeContent& node, std::string_view name, float otherwise);
std::string text_attribute(const NodeContent& node, std::string_view name,
                           const std::string& otherwise = "");
std::optional<std::vector<int64_t>> integers_attribute(const NodeContent& node,
                                                       std::string_view name);
AttributeContent attribute(Store& store, const std::string& name, int64_t value);
AttributeContent attribute(Store& store, const std::string& name,
                           const std::vector<int64_t>& values);
AttributeContent text_attribute(Store& store, const std::string& name, std::string_view value);

/// The version of the standard operators that the model (or a function) imports; 0 for none.
int64_t opset_of(const Store& store, Id container, std::string_view domain = "");
void set_opset(Store& store, Id container, int64_t version, std::string_view domain = "");
bool is_standard_node(const NodeContent& node);
/// Its name is that of the item that holds it.
std::string_view function_domain(const Store& store, Id function);

/// A node to insert: standard operator, inputs and outputs that store.keep() holds.
NodeDraft standard_node(Store& store, const std::string& op_type, std::string_view name,
                        const std::vector<std::string_view>& inputs,
                        const std::vector<std::string_view>& outputs);

/// The node's name, or that of its first output where it has none.
std::string shown_name(const Store& store, Id node);
/// What an item is in a message: "node 'conv1' (Conv)".
std::string description(const Store& store, Id node);

}  // namespace tenon::edit
