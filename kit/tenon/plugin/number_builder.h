/// An expression builder for tests: shapes of plain numbers.
#pragma once

#include <NvInferRuntime.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace tenon {
namespace kit {
namespace testing {

/// Shape expressions over plain numbers: what a shape rule gives for certain shapes.
class NumberBuilder final : public nvinfer1::IExprBuilder, public nvinfer1::apiv::VExprBuilder {
 public:
  NumberBuilder() { mImpl = this; }
  const nvinfer1::IDimensionExpr* constant(int64_t value) override {
    numbers_.push_back(std::make_unique<Number>(value));
    return numbers_.back().get();
  }
  const nvinfer1::IDimensionExpr* operation(nvinfer1::DimensionOperation operation,
                                            const nvinfer1::IDimensionExpr& first,
                                            const nvinfer1::IDimensionExpr& second) override {
    using Op = nvinfer1::DimensionOperation;
    const int64_t a = first.getConstantValue(), b = second.getConstantValue();
    switch (operation) {
      case Op::kSUM:
        return constant(a + b);
      case Op::kPROD:
        return constant(a * b);
      case Op::kMAX:
        return constant(std::max(a, b));
      case Op::kMIN:
        return constant(std::min(a, b));
      case Op::kSUB:
        return constant(a - b);
      case Op::kEQUAL:
        return constant(a == b);
      case Op::kLESS:
        return constant(a < b);
      case Op::kFLOOR_DIV:
        return b == 0 ? nullptr : constant(a / b - (a % b != 0 && (a < 0) != (b < 0)));
      case Op::kCEIL_DIV:
        return b == 0 ? nullptr : constant(a / b + (a % b != 0 && (a < 0) == (b < 0)));
    }
    return nullptr;
  }
  const nvinfer1::IDimensionExpr* declareSizeTensor(int32_t, const nvinfer1::IDimensionExpr&,
                                                    const nvinfer1::IDimensionExpr&) override {
    return nullptr;
  }

 private:
  class Number final : public nvinfer1::IDimensionExpr, public nvinfer1::apiv::VDimensionExpr {
   public:
    explicit Number(int64_t value) : value_(value) { mImpl = this; }
    bool isConstant() const override { return true; }
    int64_t getConstantValue() const override { return value_; }
    bool isSizeTensor() const override { return false; }

   private:
    int64_t value_;
  };
  std::vector<std::unique_ptr<Number>> numbers_;
};

}  // namespace testing
}  // namespace kit
}  // namespace tenon
