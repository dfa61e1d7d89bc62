/// An expression builder for tests: shapes of plain numbers.
#pragma once

#include <NvInferRuntime.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace tenon {
namespace kit {
namespace testing {

/// Shape expressions over plain numbers: what a shape rule gives for certain shapes. What depends
/// on a size tensor has the number that it has when the size is the largest. What 64 bits cannot
/// hold is null, as is what is divided by 0.
class NumberBuilder final : public nvinfer1::IExprBuilder, public nvinfer1::apiv::VExprBuilder {
 public:
  NumberBuilder() { mImpl = this; }
  const nvinfer1::IDimensionExpr* constant(int64_t value) override { return make(value, false); }
  const nvinfer1::IDimensionExpr* operation(nvinfer1::DimensionOperation operation,
                                            const nvinfer1::IDimensionExpr& first,
                                            const nvinfer1::IDimensionExpr& second) override {
    using Op = nvinfer1::DimensionOperation;
    const int64_t a = first.getConstantValue(), b = second.getConstantValue();
    const auto number = [&](int64_t value) {
      return make(value, !first.isConstant() || !second.isConstant());
    };
    int64_t value = 0;
    switch (operation) {
      case Op::kSUM:
        return __builtin_add_overflow(a, b, &value) ? nullptr : number(value);
      case Op::kPROD:
        return __builtin_mul_overflow(a, b, &value) ? nullptr : number(value);
      case Op::kMAX:
        return number(std::max(a, b));
      case Op::kMIN:
        return number(std::min(a, b));
      case Op::kSUB:
        return __builtin_sub_overflow(a, b, &value) ? nullptr : number(value);
      case Op::kEQUAL:
        return number(a == b);
      case Op::kLESS:
        return number(a < b);
      case Op::kFLOOR_DIV:
        return b == 0 ? nullptr : number(a / b - (a % b != 0 && (a < 0) != (b < 0)));
      case Op::kCEIL_DIV:
        return b == 0 ? nullptr : number(a / b + (a % b != 0 && (a < 0) == (b < 0)));
    }
    return nullptr;
  }
  const nvinfer1::IDimensionExpr* declareSizeTensor(int32_t output, const nvinfer1::IDimensionExpr&,
                                                    const nvinfer1::IDimensionExpr& max) override {
    sizes_.push_back({output, max.getConstantValue()});
    return make(max.getConstantValue(), true);
  }

  /// An output that says a size, and the largest that it may say.
  struct SizeTensor {
    int32_t output;
    int64_t max;
  };
  /// What was declared, in that order.
  const std::vector<SizeTensor>& size_tensors() const { return sizes_; }

  nvinfer1::DimsExprs expressions(const int64_t* values, int count) {
    nvinfer1::DimsExprs list{};
    list.nbDims = count;
    for (int i = 0; i < count; ++i) list.d[i] = constant(values[i]);
    return list;
  }

 private:
  class Number final : public nvinfer1::IDimensionExpr, public nvinfer1::apiv::VDimensionExpr {
   public:
    Number(int64_t value, bool is_data_dependent)
        : value_(value), is_data_dependent_(is_data_dependent) {
      mImpl = this;
    }
    bool isConstant() const override { return !is_data_dependent_; }
    int64_t getConstantValue() const override { return value_; }
    bool isSizeTensor() const override { return false; }

   private:
    int64_t value_;
    bool is_data_dependent_;
  };
  const nvinfer1::IDimensionExpr* make(int64_t value, bool is_data_dependent) {
    numbers_.push_back(std::make_unique<Number>(value, is_data_dependent));
    return numbers_.back().get();
  }
  std::vector<std::unique_ptr<Number>> numbers_;
  std::vector<SizeTensor> sizes_;
};

}  // namespace testing
}  // namespace kit
}  // namespace tenon
