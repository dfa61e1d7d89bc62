#include "ops/pointwise.h"

#include "ops/activation.h"
#include "ops/bitwise.h"
#include "ops/elementwise.h"
#include "ops/parametric_relu.h"
#include "ops/scale.h"
#include "ops/unary.h"
#include "target/cuda/cuda_target.h"
#include "target/cuda/pointwise/testing.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::ScaleMode;
using nvinfer1::UnaryOperation;
using Family = PointwiseStep::Family;

constexpr DataType kFloats[] = {DataType::kFLOAT, DataType::kHALF, DataType::kBF16};
constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast};

Tensor numbers_with_specials() {
  Tensor t = random_tensor({1, 3, 333}, 3, -12, 12);
  float* p = t.mutable_data<float>();
  const float special[] = {0.f,   -0.f,   NAN,    INFINITY, -INFINITY,   1e-30f,    -1e-30f,
                           100.f, -100.f, 1e-40f, 1.f,      0.99999994f, 1.0000001f};
  std::copy(std::begin(special), std::end(special), p);
  return t;
}

void expect_same(const Op& op, std::vector<TestInput> inputs, double ulps, double floor) {
  LayerTest test(op, std::move(inputs), cuda_target());
  ASSERT_EQ(test.offer("pointwise"), "");
  expect_accurate(test.run(), test.reference(), ulps, floor);
}

TEST(CudaPointwiseTest, EveryActivationIsAccurate) {
  for (int type = 0; type < 14; ++type)
    for (const DataType data_type : kFloats) {
      SCOPED_TRACE(fmt::format("{} {}", type, name_of(data_type)));
      Activation op;
      op.type = static_cast<ActivationType>(type);
      op.alpha = 0.3f;
      op.beta = 1.5f;
      expect_same(op, {typed(data_type, {numbers_with_specials()})}, 5, 0.3);
    }
}

TEST(CudaPointwiseTest, EveryUnaryFunctionIsAccurate) {
  for (int type = 0; type < 25; ++type) {
    SCOPED_TRACE(type);
    Unary op;
    op.operation = static_cast<UnaryOperation>(type);
    if (op.operation == UnaryOperation::kNOT) continue;  // for booleans
    expect_same(op, {{numbers_with_specials()}}, 4, 1e-30);
  }
}

TEST(CudaPointwiseTest, EveryOperationOfTwoTensors) {
  for (int type = 0; type < 14; ++type)
    for (const DataType data_type : kFloats) {
      SCOPED_TRACE(fmt::format("{} {}", type, name_of(data_type)));
      ElementWise op;
      op.operation = static_cast<ElementWiseOperation>(type);
      const bool is_logical = type >= 8 && type <= 10;
      if (is_logical) continue;  // for booleans
      const bool is_power = op.operation == ElementWiseOperation::kPOW;
      expect_same(op,
                  {typed(data_type, data({2, 5, 61}, 1)), typed(data_type, data({2, 5, 61}, 2))},
                  is_power ? 8 : 0, 1e-30);
    }
}

TEST(CudaPointwiseTest, SmallPowers) {
  for (const float exponent : {1.f, 2.f, 3.f, -1.f, 0.5f}) {
    SCOPED_TRACE(exponent);
    ElementWise op;
    op.operation = ElementWiseOperation::kPOW;
    TestInput power = constant({1, 1, 1});
    *power.tensor->mutable_data<float>() = exponent;
    expect_same(op, {data({2, 5, 61}), power}, 8, 1e-30);
  }
}

TEST(CudaPointwiseTest, BroadcastsInEveryLayout) {
  const Shape full = {2, 24, 5, 7};
  ElementWise op;
  op.operation = ElementWiseOperation::kSUB;
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF})
    for (const Layout layout : kLayouts)
      for (const Shape& other :
           {Shape{2, 24, 5, 7}, Shape{1, 24, 1, 1}, Shape{2, 24, 1, 1}, Shape{1, 1, 1, 1},
            Shape{1, 1, 5, 7}, Shape{1, 24, 5, 7}, Shape{2, 1, 5, 1}, Shape{1, 1, 1, 7}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), name_of(layout), other));
        const TestInput large = typed(type, data(full, 1, layout));
        const TestInput small = typed(type, data(other, 2));
        LayerTest test(op, {large, small}, cuda_target());
        ASSERT_EQ(test.offer("pointwise"), "");
        EXPECT_EQ(test.kernel().output_layouts[0], layout);
        expect_accurate(test.run(), test.reference(), 0, 1);
        LayerTest reversed(op, {small, large}, cuda_target());
        ASSERT_EQ(reversed.offer("pointwise"), "");
        EXPECT_EQ(reversed.kernel().output_layouts[0], other == full ? Layout::kLinear : layout);
        expect_accurate(reversed.run(), reversed.reference(), 0, 1);
      }
}

TEST(CudaPointwiseTest, EveryRank) {
  ElementWise op;
  Shape all, some;
  for (int rank = 0; rank <= 8; ++rank) {
    SCOPED_TRACE(rank);
    expect_same(op, {data(all, 1), data(some, 2)}, 0, 1);
    if (rank == 8) break;
    all.push_back(2 + rank % 2);
    some.push_back(rank % 2 == 0 ? 1 : 2 + rank % 2);
  }
}

TEST(CudaPointwiseTest, BothInputsSmallerThanTheOutput) {
  expect_same(ElementWise(), {data({3, 1, 70}), data({1, 5, 70}, 2)}, 0, 1);
  expect_same(ElementWise(), {data({3, 1}), data({1, 5}, 2)}, 0, 1);
}

TEST(CudaPointwiseTest, ChainsOfManySteps) {
  Pointwise op;
  op.program.inputs = 2;
  op.program.constants = {0.5f, -1.f};
  // Each step takes the last result with an input or a constant.
  for (int i = 0; i < 40; ++i)
    op.program.steps.push_back(
        {Family::kElementWise,
         static_cast<int32_t>(i % 3 ? ElementWiseOperation::kSUM : ElementWiseOperation::kPROD),
         i == 0 ? 0 : op.program.step_register(static_cast<size_t>(i) - 1), i % 4});
  for (const Layout layout : kLayouts)
    expect_same(op, {data({1, 20, 9, 11}, 1, layout), data({1, 20, 1, 1}, 2)}, 8, 1);
}

TEST(CudaPointwiseTest, OtherShapesWithTheSameKernel) {
  const ElementWise op;
  // At the optimum both have the output's shape; later one is broadcast, or vectors do not fit.
  LayerTest test(op, {data({1, 24, 5, 5}, 1, Layout::kChannelsLast), data({1, 24, 5, 5}, 2)},
                 cuda_target());
  ASSERT_EQ(test.offer("pointwise"), "");
  for (const Shape& shape :
       {Shape{1, 24, 7, 3}, Shape{3, 24, 7, 3}, Shape{2, 5, 3, 3}, Shape{0, 24, 7, 3}}) {
    SCOPED_TRACE(shape.str());
    test.set_inputs({data(shape, 1), data({1, shape[1], shape[2], shape[3]}, 2)});
    expect_accurate(test.run(), test.reference(), 0, 1);
  }
}

TEST(CudaPointwiseTest, APlanKeepsTheCode) {
  const ElementWise op;
  LayerTest test(op, {data({2, 24, 5, 5}, 1), data({1, 24, 1, 1}, 2)}, cuda_target());
  ASSERT_EQ(test.offer("pointwise"), "");
  const StoredKernel stored = test.stored();
  expect_identical(test.run(*test.load(stored)), test.run());
}

TEST(CudaPointwiseTest, ScaleInEveryMode) {
  const Shape shape = {2, 19, 4, 3};
  for (const auto& [mode, weights] :
       {std::pair{ScaleMode::kUNIFORM, Shape{1}}, std::pair{ScaleMode::kCHANNEL, Shape{19}},
        std::pair{ScaleMode::kELEMENTWISE, Shape{19 * 4 * 3}}})
    for (const Layout layout : kLayouts) {
      Scale op;
      op.mode = mode;
      expect_same(op, {data(shape, 1, layout), constant(weights, 2), constant(weights, 3)}, 2, 1);
      expect_same(op, {data(shape, 1, layout), absent(), constant(weights, 3)}, 2, 1);
    }
}

TEST(CudaPointwiseTest, ParametricRelu) {
  for (const Layout layout : kLayouts)
    expect_same(tenon::ParametricRelu(), {data({2, 19, 4, 3}, 1, layout), constant({1, 19, 1, 1})},
                0, 1);
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
    LayerTest test(op, std::move(inputs), cuda_target());
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
    LayerTest test(op, {x, y}, cuda_target());
    ASSERT_EQ(test.offer("integer_pointwise"), "");
    expect_identical(test.run(), test.reference());
  }
  Unary op;
  op.operation = UnaryOperation::kNOT;
  LayerTest test(op, {x}, cuda_target());
  ASSERT_EQ(test.offer("integer_pointwise"), "");
  expect_identical(test.run(), test.reference());
}

}  // namespace
}  // namespace tenon::cuda
