#include "cuda/convolution/sliding_testing.h"

namespace tenon::cuda {
namespace {

Convolution depthwise(int64_t channels, int64_t kernel, int64_t stride, int64_t pad) {
  return sliding(channels, {kernel, kernel}, {stride, stride}, {pad, pad}, channels);
}

// The kernel, its variants, and each of them loaded from a plan.
void check_depthwise(LayerTest& test, DataType type) {
  ASSERT_EQ(test.offer("depthwise_convolution"), "");
  const Tensor expected = test.reference();
  expect_close(test.run(), expected, tolerance(type));
  expect_close(test.run(*test.load(test.stored())), expected, tolerance(type));
  const auto variants = test.kernel().variants();
  EXPECT_EQ(variants.size(), 2u);
  for (const auto& variant : variants) {
    SCOPED_TRACE(variant->variant);
    expect_close(test.run(*variant), expected, tolerance(type));
  }
}

TEST(DepthwiseTest, EqualsReference) {
  for (const DataType type : kFloatTypes)
    for (const int64_t kernel : {3, 5})
      for (const int64_t stride : {1, 2})
        for (const Shape& shape :
             {Shape{2, 24, 14, 13}, Shape{1, 4, 3, 2}, Shape{3, 132, 7, 7}, Shape{1, 8, 1, 1}}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(type), kernel, stride, shape));
          LayerTest test = layer(depthwise(shape[1], kernel, stride, kernel / 2), type, shape,
                                 Layout::kChannelsLast);
          check_depthwise(test, type);
        }
}

TEST(DepthwiseTest, PadsByOneSide) {
  Convolution op = depthwise(16, 3, 2, 0);
  op.post_padding = {1, 1};
  LayerTest test = layer(op, DataType::kHALF, {1, 16, 12, 12}, Layout::kLinear);
  check_depthwise(test, DataType::kHALF);
}

TEST(DepthwiseTest, RunsActivations) {
  const PointwiseProgram programs[] = {
      {1, {}, {activation(ActivationType::kRELU, 0)}},
      {1, {}, {activation(ActivationType::kGELU_ERF, 0)}},
      {1, {}, {activation(ActivationType::kGELU_TANH, 0)}},
      {1, {}, {activation(ActivationType::kCLIP, 0, 0, 0.5f)}},
      {1, {}, {activation(ActivationType::kSIGMOID, 0), binary(ElementWiseOperation::kPROD, 0, 1)}},
      {1,
       {},
       {activation(ActivationType::kHARD_SIGMOID, 0, 1 / 6.f, 0.5f),
        binary(ElementWiseOperation::kPROD, 1, 0)}}};
  for (const PointwiseProgram& program : programs) {
    Convolution op = depthwise(16, 3, 1, 1);
    op.epilogue = program;
    LayerTest test = layer(op, DataType::kHALF, {2, 16, 9, 10}, Layout::kLinear);
    check_depthwise(test, DataType::kHALF);
  }
}

TEST(DepthwiseTest, OtherConvolutionsAreLeftToOthers) {
  const Shape shape = {1, 16, 9, 9};
  const auto refusal = [&](const Convolution& op) {
    LayerTest test = layer(op, DataType::kHALF, shape, Layout::kLinear);
    return test.offer("depthwise_convolution");
  };
  EXPECT_THAT(refusal(sliding(16, {3, 3}, {1, 1}, {1, 1}, 8)),
              testing::HasSubstr("one output channel"));
  EXPECT_THAT(refusal(depthwise(16, 7, 1, 3)), testing::HasSubstr("3x3 and 5x5"));
}

}  // namespace
}  // namespace tenon::cuda
