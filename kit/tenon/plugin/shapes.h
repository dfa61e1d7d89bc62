/// Dimensions in shape rules: integers known now or when shapes are set, with the usual operators.
#pragma once

#include <NvInferRuntime.h>

#include <algorithm>
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
    return expression_ != nullptr ? expression_ : builder.constant(value_);
  }

 private:
  using Operation = nvinfer1::DimensionOperation;

  static Extent apply(Operation operation, Extent a, Extent b) {
    nvinfer1::IExprBuilder* builder = a.builder_ != nullptr ? a.builder_ : b.builder_;
    if (builder == nullptr) return fold(operation, a.value_, b.value_);
    return {builder->operation(operation, *a.lower(*builder), *b.lower(*builder)), builder};
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

}  // namespace kit
}  // namespace tenon
