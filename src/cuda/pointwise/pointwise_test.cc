// Element-wise layers: what is the GPU's own.
#include "backend/accuracy_testing.h"
#include "common/suites/float_types_testing.h"
#include "ops/activation.h"
#include "ops/bitwise.h"
#include "ops/elementwise.h"
#include "ops/parametric_relu.h"
#include "ops/unary.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast};

TEST(CudaPointwiseTest, EveryOperationOfTwoTensors) {
  for (int type = 0; type < 14; ++type)
    for (const DataType data_type : kFloatTypes) {
      SCOPED_TRACE(fmt::format("{} {}", type, name_of(data_type)));
      ElementWise op;
      op.operation = static_cast<ElementWiseOperation>(type);
      const bool is_logical = type >= 8 && type <= 10;
      if (is_logical) continue;  // for booleans
      const bool is_power = op.operation == ElementWiseOperation::kPOW;
      expect_program(
          op, {as_type(data_type, data({2, 5, 61}, 1)), as_type(data_type, data({2, 5, 61}, 2))},
          is_power ? 8 : 0, 1e-30);
    }
}

TEST(CudaPointwiseTest, FloatsThatAreNoNumbers) {
  for (const auto operation : {UnaryOperation::kISINF, UnaryOperation::kISNAN}) {
    Unary op;
    op.operation = operation;
    expect_program(op, {{numbers_with_specials()}}, 0, 1);
  }
}

TEST(CudaPointwiseTest, SmallPowers) {
  for (const float exponent : {1.f, 2.f, 3.f, -1.f, 0.5f}) {
    SCOPED_TRACE(exponent);
    ElementWise op;
    op.operation = ElementWiseOperation::kPOW;
    TestInput power = constant({1, 1, 1});
    *power.tensor->mutable_data<float>() = exponent;
    expect_program(op, {data({2, 5, 61}), power}, 8, 1e-30);
  }
}

TEST(CudaPointwiseTest, APlanKeepsTheCode) {
  const ElementWise op;
  LayerTest test(op, {data({2, 24, 5, 5}, 1), data({1, 24, 1, 1}, 2)});
  ASSERT_EQ(test.offer("pointwise"), "");
  const StoredKernel stored = test.stored();
  expect_identical(test.run(*test.load(stored)), test.run());
}

TEST(CudaPointwiseTest, ParametricRelu) {
  for (const Layout layout : kLayouts)
    expect_program(tenon::ParametricRelu(),
                   {data({2, 19, 4, 3}, 1, layout), constant({1, 19, 1, 1})}, 0, 1);
}

// The same numbers as another type, with the extremes of it.
template <class T> TestInput extremes(DataType type, const Shape& shape, uint32_t seed) {
  std::vector<T> values(static_cast<size_t>(shape.volume()));
  std::mt19937 random(seed);
  for (T& v : values) v = static_cast<T>(static_cast<int>(random() % 15) - 7);
  using Limits = std::numeric_limits<T>;
  for (size_t i = 0; i < values.size(); i += 7)
    values[i] = i % 3 == 0 ? Limits::min() : i % 3 == 1 ? Limits::max() : static_cast<T>(random());
  return integers<T>(type, shape, values);
}

template <class T> void check_integers(DataType type) {
  SCOPED_TRACE(name_of(type));
  const auto check = [](const Op& op, std::vector<TestInput> inputs) {
    LayerTest test(op, std::move(inputs));
    ASSERT_EQ(test.offer("integer_pointwise"), "");
    expect_identical(test.run(), test.reference());
  };
  const TestInput a = extremes<T>(type, {2, 5, 13}, 1), b = extremes<T>(type, {2, 5, 13}, 2);
  for (int operation = 0; operation < 14; ++operation) {
    if (operation >= 8 && operation <= 10) continue;  // for booleans
    SCOPED_TRACE(operation);
    ElementWise op;
    op.operation = static_cast<ElementWiseOperation>(operation);
    check(op, {a, b});
    check(op, {a, extremes<T>(type, {1, 5, 1}, 3)});
  }
  for (const UnaryOperation operation :
       {UnaryOperation::kABS, UnaryOperation::kNEG, UnaryOperation::kSIGN}) {
    SCOPED_TRACE(fmt::format("unary {}", static_cast<int>(operation)));
    Unary op;
    op.operation = operation;
    check(op, {a});
  }
  for (int operation = 0; operation < 5; ++operation) {
    SCOPED_TRACE(fmt::format("bitwise {}", operation));
    Bitwise op;
    op.operation = static_cast<BitwiseOperation>(operation);
    check(op, {a, b});
  }
  Activation clip;
  check(clip, {a});
  clip.type = ActivationType::kCLIP;
  clip.alpha = -2.5f;
  clip.beta = 5;
  check(clip, {a});
}

TEST(CudaPointwiseTest, Integers) {
  check_integers<int8_t>(DataType::kINT8);
  check_integers<uint8_t>(DataType::kUINT8);
  check_integers<int32_t>(DataType::kINT32);
  check_integers<int64_t>(DataType::kINT64);
}

TEST(CudaPointwiseTest, Booleans) {
  std::vector<uint8_t> a(77), b(77);
  for (size_t i = 0; i < a.size(); ++i) a[i] = i % 2, b[i] = i / 2 % 2;
  const TestInput x = integers<uint8_t>(DataType::kBOOL, {7, 11}, a);
  const TestInput y = integers<uint8_t>(DataType::kBOOL, {7, 11}, b);
  for (const auto operation : {ElementWiseOperation::kAND, ElementWiseOperation::kOR,
                               ElementWiseOperation::kXOR, ElementWiseOperation::kEQUAL}) {
    SCOPED_TRACE(static_cast<int>(operation));
    ElementWise op;
    op.operation = operation;
    LayerTest test(op, {x, y});
    ASSERT_EQ(test.offer("integer_pointwise"), "");
    expect_identical(test.run(), test.reference());
  }
  Unary op;
  op.operation = UnaryOperation::kNOT;
  LayerTest test(op, {x});
  ASSERT_EQ(test.offer("integer_pointwise"), "");
  expect_identical(test.run(), test.reference());
}

}  // namespace
}  // namespace tenon::cuda
