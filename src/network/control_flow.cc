#include "network/control_flow.h"

namespace tenon {

std::optional<Tensor> constant_content(const Value& v) {
  const bool integers =
      v.type == DataType::kINT64 || v.type == DataType::kINT32 || v.type == DataType::kBOOL;
  if (!integers || !v.content) return std::nullopt;
  Shape shape;
  for (Dim d : v.dims) {
    if (!d->is_integer_constant()) return std::nullopt;
    shape.push_back(d->value.integer);
  }
  Tensor tensor(v.type, shape);
  for (size_t i = 0; i < v.content->size(); ++i) {
    const Dim element = (*v.content)[i];
    if (!element->is_integer_constant()) return std::nullopt;
    const int64_t number = element->value.integer;
    if (v.type == DataType::kINT64)
      tensor.mutable_data<int64_t>()[i] = number;
    else if (v.type == DataType::kINT32)
      tensor.mutable_data<int32_t>()[i] = static_cast<int32_t>(number);
    else
      tensor.mutable_data<bool>()[i] = number != 0;
  }
  return tensor;
}

BodyDims body_dims(const Dims& outside) {
  BodyDims dims;
  for (size_t axis = 0; axis < outside.size(); ++axis) {
    const Dim d = outside[axis];
    dims.declared.push_back(d->is_integer_constant() ? d->value.integer : -1);
    if (!d->is_integer_constant()) dims.names[axis] = text_of(d);
  }
  return dims;
}

}  // namespace tenon
