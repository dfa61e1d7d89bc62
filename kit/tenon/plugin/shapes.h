/// Dimensions in shape rules: integers known now or when shapes are set, with the usual operators.
#pragma once

#include <NvInferRuntime.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

#include "tenon/plugin/spec.h"

namespace tenon {
namespace kit {

class Extent {
 public:
  Extent(int64_t value = 0) : value_(value) {}  // NOLINT: integers are extents
  Extent(const nvinfer1::IDimensionExpr* expression, nvinfer1::IExprBuilder* builder)
      : expression_(expression), builder_(builder) {}

  friend Extent operator+(Extent a, Extent b) { return apply(Operation::kSUM, a, b); }
  friend Extent operator-(Extent a, Extent b) { return apply(Operation::kSUB, a, b); }
  friend Extent operator*(Extent a, Extent b) { return apply(Operation::kPROD, a, b); }
  /// Rounds down.
  friend Extent operator/(Extent a, Extent b) { return apply(Operation::kFLOOR_DIV, a, b); }
  friend Extent ceil_div(Extent a, Extent b) { return apply(Operation::kCEIL_DIV, a, b); }
  friend Extent min(Extent a, Extent b) { return apply(Operation::kMIN, a, b); }
  friend Extent max(Extent a, Extent b) { return apply(Operation::kMAX, a, b); }

  const nvinfer1::IDimensionExpr* lower(nvinfer1::IExprBuilder& builder) const {
    const auto* lowered = expression_ != nullptr ? expression_ : builder.constant(value_);
    if (lowered == nullptr) throw std::invalid_argument("the engine refuses this expression");
    return lowered;
  }

 private:
  using Operation = nvinfer1::DimensionOperation;

  static Extent apply(Operation operation, Extent a, Extent b) {
    nvinfer1::IExprBuilder* builder = a.builder_ != nullptr ? a.builder_ : b.builder_;
    if (builder == nullptr) return fold(operation, a.value_, b.value_);
    const auto* made = builder->operation(operation, *a.lower(*builder), *b.lower(*builder));
    if (made == nullptr) throw std::invalid_argument("the engine refuses this expression");
    return {made, builder};
  }
  static Extent fold(Operation operation, int64_t a, int64_t b) {
    const bool divides = operation == Operation::kFLOOR_DIV || operation == Operation::kCEIL_DIV;
    if (divides && b == 0) throw std::invalid_argument("the shape rule divides by zero");
    switch (operation) {
      case Operation::kSUM:
        return a + b;
      case Operation::kSUB:
        return a - b;
      case Operation::kPROD:
        return a * b;
      case Operation::kMIN:
        return std::min(a, b);
      case Operation::kMAX:
        return std::max(a, b);
      case Operation::kFLOOR_DIV:
        return a / b - (a % b != 0 && (a < 0) != (b < 0));
      case Operation::kCEIL_DIV:
        return a / b + (a % b != 0 && (a < 0) == (b < 0));
      default:
        throw std::logic_error("unknown operation");
    }
  }

  int64_t value_ = 0;
  const nvinfer1::IDimensionExpr* expression_ = nullptr;
  nvinfer1::IExprBuilder* builder_ = nullptr;
};

/// The dimensions of one tensor.
using Extents = std::vector<Extent>;

/// What a shape rule can ask for when the dimensions of inputs do not say everything. Only
/// IPluginV3 has it.
class ShapeQuery {
 public:
  /// Dimensions of the inputs.
  std::span<const Extents> in;
  /// Elements of the shape inputs.
  std::span<const Extents> values;

  ShapeQuery(std::span<const Extents> in, std::span<const Extents> values,
             nvinfer1::IExprBuilder* builder)
      : in(in), values(values), builder_(builder) {}

  /// An extent that only running tells: the number that the plugin writes to its output `output`, a
  /// kInt32 or kInt64 without dimensions. It is at most `max`, and `typical` in a typical run.
  Extent size_from(int output, Extent typical, Extent max) const {
    const auto* size =
        builder_->declareSizeTensor(output, *typical.lower(*builder_), *max.lower(*builder_));
    if (size == nullptr) throw std::invalid_argument("the engine has no size tensors");
    return {size, builder_};
  }

 private:
  nvinfer1::IExprBuilder* builder_;
};

}  // namespace kit
}  // namespace tenon
