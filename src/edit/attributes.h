// Attributes and tensors as values that callers hold.
#pragma once

#include <tenon/onnx.h>

#include "edit/store.h"

namespace tenon::edit {

AttributeContent attribute_of(Store& store, const std::string& name, const AttributeValue& value);
/// "value", with the tensor: what a Constant has.
AttributeContent constant_attribute(Store& store, const Tensor& tensor);
AttributeValue value_of(Store& store, const AttributeContent& attribute);
/// With its elements as raw_data has them, wherever they are stored.
TensorValue tensor_value(Store& store, std::string_view fields, std::string_view raw);
/// The bytes of a tensor in a file of its own, as long as the store lives.
std::string_view external_bytes(Store& store, std::string_view fields);
/// Initializers and Constants that lie in files of their own become part of the model.
void take_in_external(Store& store);
/// Throws unless the bytes are as many as type and shape need.
void check_tensor(const std::string& name, const TensorValue& value);
/// "3", "[1, 1]", "'text'", "float32[3]": at most 60 characters.
std::string text_of(const AttributeValue& value);

}  // namespace tenon::edit
