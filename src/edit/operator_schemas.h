// What ONNX's operators take, in each opset from 7 on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::edit {

struct OperatorSchema {
  int64_t since = 0;
  int64_t min_inputs = 0, max_inputs = 0, max_outputs = 0;  // max: -1 for any number
  /// Bit n: an input may be of ONNX's element type n; the last one holds for all that follow.
  std::vector<uint64_t> input_types;
  uint64_t output_types = 0;  // of the first output, likewise; 0 for what is no tensor
  /// With defaults as texts, "" for none.
  std::vector<std::pair<std::string_view, std::string_view>> attributes;

  bool is_deprecated() const { return max_outputs == 0; }
  const std::string_view* default_of(std::string_view attribute) const;
};

/// Of a standard operator in an opset; null where it has none.
const OperatorSchema* schema_of(std::string_view op_type, int64_t opset);

}  // namespace tenon::edit
