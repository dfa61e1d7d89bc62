// Small ONNX models for tests.
#pragma once

#include <string>

#include "tenon/serve/compile.h"

namespace tenon::serve {

/// y = Relu(x) of shape (N, 2, W), as an ONNX model; W is 4, or varies. The few fields are written
/// by hand: tests of serve/ see no protobuf.
inline std::string relu_model(bool has_dynamic_width = false) {
  const auto field = [](int number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  };
  const auto integer = [](int number, int value) {
    return std::string{static_cast<char>(number << 3), static_cast<char>(value)};
  };
  const auto tensor = [&](const std::string& name) {
    const std::string width = has_dynamic_width ? field(1, field(2, "W")) : field(1, integer(1, 4));
    const std::string shape = field(1, field(2, "N")) + field(1, integer(1, 2)) + width;
    return field(1, name) + field(2, field(1, integer(1, 1) + field(2, shape)));
  };
  const std::string node = field(1, "x") + field(2, "y") + field(4, "Relu");
  const std::string graph =
      field(1, node) + field(2, "g") + field(11, tensor("x")) + field(12, tensor("y"));
  return integer(1, 8) + field(7, graph) + field(8, field(1, "") + integer(2, 17));
}

/// The bytes stay the caller's.
inline ModelSource source_of(const std::string& model) {
  return ModelSource::onnx_data(model.data(), model.size());
}

}  // namespace tenon::serve
