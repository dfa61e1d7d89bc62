#include "cuda/convolution/sliding_testing.h"

namespace tenon::cuda {
namespace {

// Loaded from a plan, the kernel gives the same bits.
void check_cudnn(LayerTest& test, DataType type) {
  ASSERT_EQ(test.offer("cudnn_convolution"), "");
  const Tensor actual = test.run();
  expect_close(actual, test.reference(), tolerance(type));
  expect_identical(test.run(*test.load(test.stored())), actual);
}

template <class Op> void check_all_cudnn(const std::vector<SlidingCase<Op>>& cases) {
  for (const auto& [name, op, shape] : cases) {
    if (shape.volume() == 0) continue;
    for (const DataType type : kFloatTypes) {
      SCOPED_TRACE(fmt::format("{} {}", name, name_of(type)));
      LayerTest test = layer(op, type, shape, Layout::kLinear);
      check_cudnn(test, type);
    }
  }
}

TEST(CudnnConvolutionTest, EqualsReference) {
  check_all_cudnn(convolution_cases());
}

TEST(CudnnConvolutionTest, TransposedEqualsReference) {
  check_all_cudnn(deconvolution_cases());
}

TEST(CudnnConvolutionTest, WhatNoWindowReachesIsLeftToOthers) {
  const auto c = far_output_padding();
  LayerTest test = layer(c.op, DataType::kHALF, c.data, Layout::kLinear);
  EXPECT_THAT(test.offer("cudnn_convolution"), testing::HasSubstr("no kernel"));
}

struct EpilogueCase {
  const char* name;
  PointwiseProgram program;
  std::vector<Shape> operands;
};

std::vector<EpilogueCase> epilogues() {
  const Shape result = {2, 24, 9, 7};
  return {
      {"relu", {1, {}, {activation(ActivationType::kRELU, 0)}}, {}},
      {"relu6", {1, {}, {activation(ActivationType::kCLIP, 0, 0, 6)}}, {}},
      {"clip", {1, {}, {activation(ActivationType::kCLIP, 0, -0.5f, 0.25f)}}, {}},
      {"leaky_relu", {1, {}, {activation(ActivationType::kLEAKY_RELU, 0, 0.1f)}}, {}},
      {"elu", {1, {}, {activation(ActivationType::kELU, 0, 0.7f)}}, {}},
      {"sigmoid", {1, {}, {activation(ActivationType::kSIGMOID, 0)}}, {}},
      {"tanh", {1, {}, {activation(ActivationType::kTANH, 0)}}, {}},
      {"gelu", {1, {}, {activation(ActivationType::kGELU_ERF, 0)}}, {}},
      {"gelu_tanh", {1, {}, {activation(ActivationType::kGELU_TANH, 0)}}, {}},
      {"softplus", {1, {}, {activation(ActivationType::kSOFTPLUS, 0, 0.5f, 2)}}, {}},
      {"swish",
       {1,
        {},
        {activation(ActivationType::kSIGMOID, 0), binary(ElementWiseOperation::kPROD, 0, 1)}},
       {}},
      {"hard_swish",
       {1,
        {},
        {activation(ActivationType::kHARD_SIGMOID, 0, 1 / 6.f, 0.5f),
         binary(ElementWiseOperation::kPROD, 1, 0)}},
       {}},
      {"residual_relu",
       {2, {}, {binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)}},
       {result}},
      {"relu_residual",
       {2, {}, {activation(ActivationType::kRELU, 0), binary(ElementWiseOperation::kSUM, 2, 1)}},
       {result}},
      {"residual_read_twice",
       {2,
        {},
        {binary(ElementWiseOperation::kSUM, 0, 1), binary(ElementWiseOperation::kPROD, 2, 0)}},
       {result}},
      {"two_residuals",
       {3,
        {},
        {binary(ElementWiseOperation::kSUM, 0, 1), binary(ElementWiseOperation::kSUM, 3, 2)}},
       {result, result}},
      {"channel_affine",
       {3,
        {},
        {binary(ElementWiseOperation::kPROD, 0, 1), binary(ElementWiseOperation::kSUM, 3, 2),
         activation(ActivationType::kRELU, 4)}},
       {{1, 24, 1, 1}, {1, 24, 1, 1}}},
      {"constants",
       {1,
        {2, -0.5f},
        {binary(ElementWiseOperation::kPROD, 0, 1), binary(ElementWiseOperation::kSUB, 3, 2)}},
       {}},
      {"one_number_from_the_right", {1, {1}, {binary(ElementWiseOperation::kSUB, 1, 0)}}, {}},
      {"own_loop", {1, {}, {activation(ActivationType::kSOFTSIGN, 0)}}, {}},
  };
}

TEST(CudnnConvolutionTest, RunsEpilogues) {
  for (const auto& [name, program, operands] : epilogues())
    for (const DataType type : {DataType::kFLOAT, DataType::kHALF}) {
      SCOPED_TRACE(fmt::format("{} {}", name, name_of(type)));
      Convolution op = sliding(24, {3, 3}, {1, 1}, {1, 1});
      op.epilogue = program;
      LayerTest test = layer(op, type, {2, 16, 9, 7}, Layout::kLinear, operands);
      check_cudnn(test, type);
    }
}

TEST(CudnnConvolutionTest, VariantsEqualReference) {
  Convolution op = sliding(32, {3, 3}, {1, 1}, {1, 1});
  op.epilogue = {
      2, {}, {binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)}};
  for (const DataType type : kFloatTypes) {
    LayerTest test = layer(op, type, {2, 32, 9, 7}, Layout::kLinear, {{2, 32, 9, 7}});
    ASSERT_EQ(test.offer("cudnn_convolution"), "");
    const auto variants = test.kernel().variants();
    EXPECT_GE(variants.size(), 2u);
    for (const auto& variant : variants) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(type), variant->variant));
      expect_close(test.run(*variant), test.reference(), tolerance(type));
    }
  }
}

TEST(CudnnConvolutionTest, FusesWhatFollowsInHalfPrecision) {
  Convolution op = sliding(64, {3, 3}, {1, 1}, {1, 1});
  op.epilogue = {
      2, {}, {binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)}};
  LayerTest test = layer(op, DataType::kHALF, {2, 64, 14, 14}, Layout::kLinear, {{2, 64, 14, 14}});
  ASSERT_EQ(test.offer("cudnn_convolution"), "");
  EXPECT_THAT(test.kernel().variant, testing::StartsWith("fused "));
  EXPECT_EQ(test.kernel().output_layouts[0], Layout::kChannelsLast);
}

TEST(CudnnConvolutionTest, OtherShapesWithTheSameKernel) {
  const Convolution op = sliding(24, {3, 3}, {2, 1}, {1, 1});
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF}) {
    LayerTest test = layer(op, type, {1, 8, 28, 28}, Layout::kLinear);
    ASSERT_EQ(test.offer("cudnn_convolution"), "");
    for (const Shape& shape : {Shape{4, 8, 7, 5}, Shape{1, 8, 1, 1}, Shape{0, 8, 9, 9}}) {
      const auto typed = [&](TestInput in) {
        return type == DataType::kFLOAT ? in : as_type(type, in);
      };
      test.set_inputs(
          {typed(data(shape, 7)), typed(constant({24, 8, 3, 3})), typed(constant({24}, 3))});
      expect_close(test.run(), test.reference(), tolerance(type));
    }
  }
}

TEST(CudnnConvolutionTest, WithoutBiasAndWithComputedWeights) {
  const Convolution op = sliding(16, {3, 3}, {1, 1}, {1, 1});
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF})
    for (const bool is_constant : {true, false}) {
      std::vector<TestInput> inputs = {data({1, 16, 9, 9}), data({16, 16, 3, 3}, 5), absent()};
      inputs[1].is_constant = is_constant;
      if (type != DataType::kFLOAT)
        for (TestInput& in : inputs) in = as_type(type, in);
      LayerTest test(op, inputs, cuda_target());
      check_cudnn(test, type);
    }
}

TEST(CudnnConvolutionTest, DamagedStatesAreErrors) {
  LayerTest test =
      layer(sliding(8, {3, 3}, {1, 1}, {1, 1}), DataType::kHALF, {1, 8, 9, 9}, Layout::kLinear);
  ASSERT_EQ(test.offer("cudnn_convolution"), "");
  StoredKernel damaged = test.stored();
  damaged.state[0].second = int64_t{99};
  EXPECT_THROW(test.load(damaged), Error);
  damaged = test.stored();
  damaged.packed.clear();
  damaged.packed.resize(3);
  EXPECT_THROW(test.load(damaged), Error);
  // An engine that does not exist is replaced by one that does.
  damaged = test.stored();
  for (auto& [name, value] : damaged.state)
    if (name == "engine") value = int64_t{1000000};
  expect_close(test.run(*test.load(damaged)), test.reference(), tolerance(DataType::kHALF));
}

}  // namespace
}  // namespace tenon::cuda
