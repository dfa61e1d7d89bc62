// What passes ask about quantised tensors.
#pragma once

#include <optional>
#include <vector>

#include "ops/convolution.h"
#include "ops/quantize.h"
#include "ops/quantized_convolution.h"
#include "ops/support/quantized_bytes.h"
#include "optimize/match.h"

namespace tenon {

/// Bytes of weights up to which passes compute them.
constexpr size_t kLargestWeights = size_t{256} << 20;

/// The tensor that a value always is, layers before it computed where they are few.
std::optional<Tensor> known(const Value* v, int depth = 0);

/// One scale, and a zero point, for all of a tensor.
struct Uniform {
  double scale = 1;
  Value* zero = nullptr;  // null: 0
  double zero_number = 0;

  /// By the numbers: the zero points may be two tensors.
  bool equals(const Uniform& other) const {
    return scale == other.scale && zero_number == other.zero_number;
  }
};
/// Of a Quantize or Dequantize.
std::optional<Uniform> uniform_of(const Node& node);

/// What a Quantize to bytes, or to fp8, makes of its input, where a layer before it can do it.
std::optional<QuantizedBytes> quantized_bytes(const Node& node);

/// A tensor of float32 that a Dequantize of bytes gives, with one scale.
struct Dequantized {
  Node* node;  // the Dequantize
  Uniform scale;
};
std::optional<Dequantized> dequantized_bytes(const Value* v);

/// A convolution as one of integers, without what its inputs say. The epilogue must be empty.
std::unique_ptr<QuantizedConvolution> quantized_form(const Convolution& convolution);

/// What follows a layer of floats: nothing, or a Quantize to bytes, perhaps behind a ReLU or Clip,
/// whose bounds are those of the bytes then; or to fp8, for a layer of fp8.
struct Ending {
  std::vector<Node*> merged;  // the layer first
  std::optional<Uniform> result;
  DataType to = DataType::kFLOAT;
  ResultBounds bounds;
};
Ending ending_of(const Uses& uses, Node& layer, bool is_float8 = false);

}  // namespace tenon
