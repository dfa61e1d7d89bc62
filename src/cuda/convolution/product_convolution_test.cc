#include "cuda/convolution/sliding_testing.h"

namespace tenon::cuda {
namespace {

// The kernel, its variants, and what a plan keeps of it.
void check_product(LayerTest& test, const char* kernel, DataType type) {
  ASSERT_EQ(test.offer(kernel), "");
  const Tensor expected = test.reference(), actual = test.run();
  expect_close(actual, expected, tolerance(type));
  expect_identical(test.run(*test.load(test.stored())), actual);
  for (const auto& other : test.kernel().variants()) {
    SCOPED_TRACE(other->variant);
    expect_close(test.run(*other), expected, tolerance(type));
  }
}

const std::vector<PointwiseProgram> kPrograms = {
    {},
    {1, {}, {activation(ActivationType::kRELU, 0)}},
    {2, {}, {binary(ElementWiseOperation::kSUM, 0, 1)}},
    {2, {}, {binary(ElementWiseOperation::kSUM, 1, 0), activation(ActivationType::kRELU, 2)}}};

void check_all_product(const char* kernel, const std::vector<PointwiseProgram>& programs,
                       const std::vector<Shape>& shapes) {
  for (const DataType type : {DataType::kHALF, DataType::kBF16})
    for (const PointwiseProgram& program : programs)
      for (const Shape& shape : shapes) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), shape, program.str()));
        const Shape ones = Shape::filled(shape.rank() - 2, 1);
        const int64_t output_channels = shape[1] > 100 ? 136 : 24;
        Convolution op = sliding(output_channels, ones, ones, Shape::filled(ones.rank(), 0));
        op.epilogue = program;
        Shape result = shape;
        result[1] = output_channels;
        std::vector<Shape> operands;
        if (program.inputs == 2) operands.push_back(result);
        LayerTest test = layer(op, type, shape, Layout::kLinear, operands);
        check_product(test, kernel, type);
      }
}

TEST(ProductConvolutionTest, EqualsReference) {
  check_all_product("product_convolution", kPrograms,
                    {{2, 32, 7, 9}, {1, 64, 1, 1}, {2, 16, 2, 3, 4}});
}

TEST(FusedProductConvolutionTest, EqualsReference) {
  check_all_product("fused_product_convolution", kPrograms,
                    {{2, 32, 7, 9},
                     {1, 64, 1, 1},
                     {2, 16, 2, 3, 4},
                     {1, 8, 5, 5},
                     {1, 200, 13, 10},
                     {3, 96, 9, 7}});
}

TEST(FusedProductConvolutionTest, RunsActivations) {
  check_all_product(
      "fused_product_convolution",
      {{1, {}, {activation(ActivationType::kCLIP, 0, 0, 0.5f)}},
       {2,
        {},
        {binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kSIGMOID, 2),
         binary(ElementWiseOperation::kPROD, 2, 3)}},
       {1,
        {},
        {activation(ActivationType::kHARD_SIGMOID, 0, 1 / 6.f, 0.5f),
         binary(ElementWiseOperation::kPROD, 1, 0)}}},
      {{2, 40, 7, 9}});
}

TEST(FusedProductConvolutionTest, OtherChannelsAreLeftToOthers) {
  LayerTest test =
      layer(sliding(12, {1, 1}, {1, 1}, {0, 0}), DataType::kHALF, {1, 16, 9, 9}, Layout::kLinear);
  EXPECT_THAT(test.offer("fused_product_convolution"), testing::HasSubstr("multiples of 8"));
}

TEST(ProductConvolutionTest, OtherShapesWithTheSameKernel) {
  const Convolution op = sliding(24, {1, 1}, {1, 1}, {0, 0});
  for (const char* kernel : {"product_convolution", "fused_product_convolution"}) {
    LayerTest test = layer(op, DataType::kHALF, {1, 16, 28, 28}, Layout::kChannelsLast);
    ASSERT_EQ(test.offer(kernel), "");
    for (const Shape& shape : {Shape{4, 16, 7, 5}, Shape{1, 16, 1, 1}, Shape{0, 16, 9, 9}}) {
      const auto half = [&](const TestInput& in) { return as_type(DataType::kHALF, in); };
      test.set_inputs({half(data(shape, 7)), half(constant({24, 16, 1, 1})), half(constant({24}))});
      expect_close(test.run(), test.reference(), tolerance(DataType::kHALF));
    }
  }
}

TEST(ProductConvolutionTest, LeavesOthersToOthers) {
  const Shape shape = {1, 16, 9, 9};
  const auto refusal = [&](const Convolution& op, DataType type) {
    LayerTest test = layer(op, type, shape, Layout::kLinear);
    return test.offer("product_convolution");
  };
  EXPECT_THAT(refusal(sliding(16, {3, 3}, {1, 1}, {1, 1}), DataType::kHALF),
              testing::HasSubstr("one element"));
  EXPECT_THAT(refusal(sliding(16, {1, 1}, {2, 2}, {0, 0}), DataType::kHALF),
              testing::HasSubstr("strides"));
  EXPECT_THAT(refusal(sliding(16, {1, 1}, {1, 1}, {0, 0}), DataType::kFLOAT),
              testing::HasSubstr("rows"));
}

}  // namespace
}  // namespace tenon::cuda
