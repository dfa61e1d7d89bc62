#include "common/convolution_testing.h"
#include "cpu/cpu_target.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using Family = PointwiseStep::Family;

Convolution convolution(int64_t output_channels, const Shape& kernel, int64_t stride = 1,
                        int64_t pad = 0, int64_t groups = 1) {
  Convolution op;
  op.output_channels = output_channels;
  op.kernel = kernel;
  op.stride = Shape::filled(kernel.rank(), stride);
  op.dilation = Shape::filled(kernel.rank(), 1);
  op.pre_padding = op.post_padding = Shape::filled(kernel.rank(), pad);
  op.groups = groups;
  return op;
}

// oneDNN's functions of epilogues are approximations: they need a wider bound.
void check_onednn(LayerTest& test, double relative = 2e-6) {
  check(test, "onednn_convolution", relative);
}

struct OnednnConvolutionCase {
  const char* name;
  Convolution op;
  Shape data;
};

class ConvolutionTest : public testing::TestWithParam<OnednnConvolutionCase> {};

TEST_P(ConvolutionTest, EqualsReference) {
  const auto& [name, op, shape] = GetParam();
  for (const Layout layout : {Layout::kLinear, Layout::kBlocked16}) {
    LayerTest test(op, {data(shape, 1, layout), constant(weights_of(op, shape[1])),
                        constant({op.output_channels}, 3)});
    check_onednn(test);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvolutionTest,
    testing::Values(
        OnednnConvolutionCase{"pointwise", convolution(64, {1, 1}), {1, 32, 14, 14}},
        OnednnConvolutionCase{"square", convolution(32, {3, 3}, 1, 1), {2, 16, 13, 17}},
        OnednnConvolutionCase{"stem", convolution(64, {7, 7}, 2, 3), {1, 3, 37, 41}},
        OnednnConvolutionCase{"odd_channels", convolution(13, {3, 3}, 1, 1), {1, 7, 9, 11}},
        OnednnConvolutionCase{"few_outputs", convolution(3, {5, 5}, 1, 2), {1, 32, 20, 20}},
        OnednnConvolutionCase{"groups", convolution(24, {3, 3}, 1, 1, 4), {1, 12, 10, 10}},
        OnednnConvolutionCase{"odd_groups", convolution(15, {3, 3}, 2, 1, 5), {1, 10, 10, 10}},
        OnednnConvolutionCase{"depthwise", convolution(32, {3, 3}, 1, 1, 32), {1, 32, 15, 15}},
        OnednnConvolutionCase{"odd_depthwise", convolution(19, {3, 3}, 2, 1, 19), {2, 19, 15, 14}},
        OnednnConvolutionCase{
            "dilated",
            with(convolution(16, {3, 3}, 1, 2), [](auto& op) { op.dilation = {2, 2}; }),
            {1, 16, 12, 12}},
        OnednnConvolutionCase{"asymmetric",
                              with(convolution(16, {3, 2}, 2),
                                   [](auto& op) {
                                     op.pre_padding = {0, 1};
                                     op.post_padding = {2, 0};
                                   }),
                              {1, 16, 12, 13}},
        OnednnConvolutionCase{
            "round_up",
            with(convolution(16, {3, 3}, 2),
                 [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP; }),
            {1, 16, 12, 12}},
        OnednnConvolutionCase{
            "same_upper",
            with(convolution(16, {3, 3}, 2),
                 [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_UPPER; }),
            {1, 16, 12, 11}},
        OnednnConvolutionCase{
            "same_lower",
            with(convolution(16, {4, 4}, 1),
                 [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_LOWER; }),
            {1, 16, 12, 11}},
        OnednnConvolutionCase{"unused_rows", convolution(16, {2, 2}, 3), {1, 16, 10, 11}},
        OnednnConvolutionCase{"volume", convolution(16, {3, 3, 3}, 1, 1), {1, 8, 5, 6, 7}},
        OnednnConvolutionCase{"volume_groups", convolution(6, {1, 3, 3}, 2, 1, 3), {1, 9, 5, 6, 7}},
        OnednnConvolutionCase{"no_elements", convolution(16, {3, 3}, 1, 1), {0, 8, 5, 6}}),
    [](const auto& i) { return i.param.name; });

TEST(ConvolutionTest, WithoutBias) {
  const Convolution op = convolution(16, {3, 3}, 1, 1);
  LayerTest test(op, {data({1, 16, 9, 9}), constant({16, 16, 3, 3}), absent()});
  check_onednn(test);
  LayerTest shorter(op, {data({1, 16, 9, 9}), constant({16, 16, 3, 3})});
  check_onednn(shorter);
}

TEST(ConvolutionTest, WeightsThatAreComputed) {
  const Convolution op = convolution(16, {3, 3}, 1, 1);
  LayerTest test(op, {data({1, 16, 9, 9}), data({16, 16, 3, 3}, 5), constant({16})});
  check_onednn(test);
  EXPECT_FALSE(test.kernel().input_is_packed[1]);
}

TEST(ConvolutionTest, OtherShapesWithTheSameKernel) {
  for (const int64_t channels : {3, 16, 40}) {
    const Convolution op = convolution(24, {3, 3}, 1, 1);
    const Shape weights = weights_of(op, channels);
    LayerTest test(op, {data({1, channels, 56, 56}), constant(weights), constant({24})});
    ASSERT_EQ(test.offer("onednn_convolution"), "");
    for (const Shape& shape : {Shape{1, channels, 56, 56}, Shape{4, channels, 7, 5},
                               Shape{1, channels, 1, 1}, Shape{3, channels, 33, 70}}) {
      test.set_inputs({data(shape, 7), constant(weights), constant({24})});
      expect_close(test.run(), test.reference());
    }
  }
}

struct OnednnConvolutionEpilogueCase {
  const char* name;
  PointwiseProgram program;
  std::vector<Shape> operands;  // beside a result of 2x24x9x7
  bool fused = true;
};

class EpilogueTest : public testing::TestWithParam<OnednnConvolutionEpilogueCase> {};

TEST_P(EpilogueTest, EqualsReference) {
  const auto& [name, program, operands, fused] = GetParam();
  for (const int64_t groups : {1, 24}) {
    Convolution op = convolution(24, {3, 3}, 1, 1, groups);
    op.epilogue = program;
    std::vector<TestInput> inputs = {data({2, 24, 9, 7}), constant(weights_of(op, 24)),
                                     constant({24})};
    for (const Shape& s : operands) inputs.push_back(data(s, 11));
    LayerTest test(op, inputs);
    check_onednn(test, 1e-5);
    EXPECT_EQ(cpu_target().fuses(op, program), fused);
  }
}

PointwiseProgram program(int32_t inputs, std::vector<float> constants,
                         std::vector<PointwiseStep> steps) {
  return {inputs, std::move(constants), std::move(steps)};
}

INSTANTIATE_TEST_SUITE_P(
    Programs, EpilogueTest,
    testing::Values(
        OnednnConvolutionEpilogueCase{
            "relu", program(1, {}, {activation(ActivationType::kRELU, 0)}), {}},
        OnednnConvolutionEpilogueCase{
            "leaky", program(1, {}, {activation(ActivationType::kLEAKY_RELU, 0, 0.1f)}), {}},
        OnednnConvolutionEpilogueCase{
            "relu6", program(1, {}, {activation(ActivationType::kCLIP, 0, 0, 6)}), {}},
        OnednnConvolutionEpilogueCase{
            "sigmoid", program(1, {}, {activation(ActivationType::kSIGMOID, 0)}), {}},
        OnednnConvolutionEpilogueCase{
            "tanh", program(1, {}, {activation(ActivationType::kTANH, 0)}), {}},
        OnednnConvolutionEpilogueCase{
            "elu", program(1, {}, {activation(ActivationType::kELU, 0, 0.7f)}), {}},
        OnednnConvolutionEpilogueCase{
            "selu", program(1, {}, {activation(ActivationType::kSELU, 0, 1.67f, 1.05f)}), {}},
        OnednnConvolutionEpilogueCase{
            "gelu", program(1, {}, {activation(ActivationType::kGELU_ERF, 0)}), {}},
        OnednnConvolutionEpilogueCase{
            "gelu_tanh", program(1, {}, {activation(ActivationType::kGELU_TANH, 0)}), {}},
        OnednnConvolutionEpilogueCase{"swish",
                                      program(1, {},
                                              {activation(ActivationType::kSIGMOID, 0),
                                               binary(ElementWiseOperation::kPROD, 0, 1)}),
                                      {}},
        OnednnConvolutionEpilogueCase{
            "hard_swish",
            program(1, {},
                    {activation(ActivationType::kHARD_SIGMOID, 0, 1 / 6.f, 0.5f),
                     binary(ElementWiseOperation::kPROD, 1, 0)}),
            {}},
        OnednnConvolutionEpilogueCase{"residual_relu",
                                      program(2, {},
                                              {binary(ElementWiseOperation::kSUM, 0, 1),
                                               activation(ActivationType::kRELU, 2)}),
                                      {{2, 24, 9, 7}}},
        OnednnConvolutionEpilogueCase{"relu_residual",
                                      program(2, {},
                                              {activation(ActivationType::kRELU, 0),
                                               binary(ElementWiseOperation::kSUM, 1, 2)}),
                                      {{2, 24, 9, 7}}},
        OnednnConvolutionEpilogueCase{"two_residuals",
                                      program(3, {},
                                              {binary(ElementWiseOperation::kSUM, 0, 1),
                                               binary(ElementWiseOperation::kSUM, 3, 2)}),
                                      {{2, 24, 9, 7}, {2, 24, 9, 7}}},
        OnednnConvolutionEpilogueCase{"channel_affine",
                                      program(3, {},
                                              {binary(ElementWiseOperation::kPROD, 0, 1),
                                               binary(ElementWiseOperation::kSUM, 3, 2),
                                               activation(ActivationType::kRELU, 4)}),
                                      {{1, 24, 1, 1}, {1, 24, 1, 1}}},
        OnednnConvolutionEpilogueCase{"per_image",
                                      program(2, {}, {binary(ElementWiseOperation::kPROD, 0, 1)}),
                                      {{2, 24, 1, 1}}},
        OnednnConvolutionEpilogueCase{
            "per_row", program(2, {}, {binary(ElementWiseOperation::kSUM, 0, 1)}), {{1, 1, 9, 1}}},
        OnednnConvolutionEpilogueCase{
            "scalar", program(2, {}, {binary(ElementWiseOperation::kMAX, 0, 1)}), {{1, 1, 1, 1}}},
        OnednnConvolutionEpilogueCase{"constants",
                                      program(1, {2, -0.5f},
                                              {binary(ElementWiseOperation::kPROD, 0, 1),
                                               binary(ElementWiseOperation::kSUB, 2, 3)}),
                                      {}},
        OnednnConvolutionEpilogueCase{"repeated",
                                      program(1, {},
                                              {activation(ActivationType::kLEAKY_RELU, 0, 0.5f),
                                               activation(ActivationType::kTANH, 1),
                                               activation(ActivationType::kLEAKY_RELU, 2, 0.25f)}),
                                      {},
                                      false},
        OnednnConvolutionEpilogueCase{"own_loop",
                                      program(2, {},
                                              {activation(ActivationType::kSOFTSIGN, 0),
                                               binary(ElementWiseOperation::kSUB, 1, 2)}),
                                      {{2, 24, 9, 7}},
                                      false},
        OnednnConvolutionEpilogueCase{
            "read_twice",
            program(1, {},
                    {activation(ActivationType::kTANH, 0), binary(ElementWiseOperation::kSUM, 0, 1),
                     binary(ElementWiseOperation::kPROD, 0, 2)}),
            {},
            false}),
    [](const auto& i) { return i.param.name; });

TEST(ConvolutionTest, ResidualIsAddedInPlaceUnlessItIsConstant) {
  Convolution op = convolution(32, {1, 1});
  op.epilogue = program(2, {}, {binary(ElementWiseOperation::kSUM, 0, 1)});
  const Shape shape = {1, 32, 9, 9};
  LayerTest test(op, {data(shape), constant({32, 32, 1, 1}), absent(), data(shape, 4)});
  check_onednn(test);
  EXPECT_EQ(test.kernel().aliased_input, 3);
  LayerTest kept(op, {data(shape), constant({32, 32, 1, 1}), absent(), constant(shape, 4)});
  check_onednn(kept);
  EXPECT_EQ(kept.kernel().aliased_input, -1);
}

// The library would add the first one's to all where it unfolds windows.
TEST(ConvolutionTest, EachImageHasItsOwnOperands) {
  const Shape result = {3, 12, 2, 2};
  Convolution op = convolution(12, {7, 7}, 1, 3);
  op.epilogue = program(
      2, {}, {activation(ActivationType::kRELU, 0), binary(ElementWiseOperation::kSUM, 1, 2)});
  LayerTest test(
      op, {data({3, 13, 2, 2}), constant(weights_of(op, 13)), constant({12}, 3), data(result, 11)});
  check_onednn(test);
}

// The library would call code there that it has not made.
TEST(ConvolutionTest, NoEpilogueWhereWindowsLieInPaddingAltogether) {
  const Convolution plain =
      with(convolution(12, {1, 3}), [](auto& op) { op.post_padding = {2, 0}; });
  const auto test_of = [](const Convolution& op) {
    return LayerTest(op, {data({1, 4, 32, 64}, 1, Layout::kBlocked16), constant({12, 4, 1, 3}),
                          constant({12}, 3), data({1, 12, 34, 62}, 11, Layout::kBlocked16)});
  };
  const Convolution residual = with(
      plain, [](auto& op) { op.epilogue = {2, {}, {binary(ElementWiseOperation::kSUM, 0, 1)}}; });
  LayerTest test = test_of(residual);
  EXPECT_NE(test.offer("onednn_convolution"), "");
  LayerTest without(plain, {data({1, 4, 32, 64}, 1, Layout::kBlocked16), constant({12, 4, 1, 3}),
                            constant({12}, 3)});
  check_onednn(without);
}

TEST(ConvolutionTest, DamagedWeightsAreErrors) {
  const Convolution op = convolution(32, {3, 3}, 1, 1);
  LayerTest test(op, {data({1, 16, 9, 9}), constant({32, 16, 3, 3}), constant({32})});
  ASSERT_EQ(test.offer("onednn_convolution"), "");
  const StoredKernel good = test.stored();
  // Each number of the layout, replaced by bad ones.
  for (size_t f = 0; f < good.state.size(); ++f) {
    const auto* list = std::get_if<std::vector<int64_t>>(&good.state[f].second);
    if (list == nullptr) continue;
    for (size_t i = 0; i < list->size(); ++i)
      for (const int64_t bad : {int64_t{-1}, int64_t{99}, INT64_MAX, INT64_MIN}) {
        StoredKernel damaged = good;
        std::get<std::vector<int64_t>>(damaged.state[f].second)[i] = bad;
        if ((*list)[i] == bad) continue;
        if (good.state[f].first == "block_sizes" && bad == 99) continue;  // may be a layout
        EXPECT_THROW(test.load(damaged), Error) << good.state[f].first << " " << i << " " << bad;
      }
    StoredKernel damaged = good;
    std::get<std::vector<int64_t>>(damaged.state[f].second).push_back(0);
    EXPECT_THROW(test.load(damaged), Error) << good.state[f].first;
    damaged = good;
    damaged.state.erase(damaged.state.begin() + static_cast<std::ptrdiff_t>(f));
    EXPECT_THROW(test.load(damaged), Error) << good.state[f].first;
  }
  StoredKernel damaged = good;
  damaged.packed[0] = Tensor(DataType::kFLOAT, {damaged.packed[0].count() - 1});
  EXPECT_THROW(test.load(damaged), Error);
  damaged = good;
  damaged.packed.clear();
  damaged.packed.resize(2);
  EXPECT_THROW(test.load(damaged), Error);
}

TEST(ConvolutionTest, WeightsPackedForAnotherMachine) {
  const Convolution op = convolution(32, {3, 3}, 1, 1);
  LayerTest test(op, {data({1, 16, 9, 9}), constant({32, 16, 3, 3}), constant({32})});
  ASSERT_EQ(test.offer("onednn_convolution"), "");
  // Rows, as a machine without blocked kernels would have kept them.
  const Tensor weights = random_tensor({32, 16, 3, 3}, 2);
  StoredKernel other = test.stored();
  for (auto& [name, value] : other.state) {
    if (name == "order") value = std::vector<int64_t>{0, 1, 2, 3};
    if (name == "block_axes" || name == "block_sizes") value = std::vector<int64_t>{};
  }
  other.packed = {weights.reshaped({weights.count()})};
  expect_identical(test.run(*test.load(other)), test.run());
}

TEST(ConvolutionTest, WeightsAtAnOddAddress) {
  const Convolution op = convolution(32, {3, 3}, 1, 1);
  LayerTest test(op, {data({1, 16, 9, 9}), constant({32, 16, 3, 3}), constant({32})});
  ASSERT_EQ(test.offer("onednn_convolution"), "");
  StoredKernel moved = test.stored();
  const Tensor& t = moved.packed[0];
  auto memory = std::make_shared<std::vector<float>>(static_cast<size_t>(t.count()) + 32);
  float* p = memory->data();
  while (reinterpret_cast<uintptr_t>(p) % 64 != 4) ++p;
  std::memcpy(p, t.data(), t.bytes());
  moved.packed[0] = Tensor(DataType::kFLOAT, t.shape(), memory, p);
  expect_identical(test.run(*test.load(moved)), test.run());
}

TEST(ConvolutionTest, PackedWeightsAreUsedInPlace) {
  const Convolution op = convolution(32, {3, 3}, 1, 1);
  LayerTest test(op, {data({1, 16, 9, 9}), constant({32, 16, 3, 3}), constant({32})});
  ASSERT_EQ(test.offer("onednn_convolution"), "");
  const StoredKernel stored = test.stored();
  EXPECT_EQ(test.load(stored)->packed[0].data(), stored.packed[0].data());
}

TEST(ConvolutionTest, RunsAfterTheNumberOfThreadsChanged) {
  const Convolution op = convolution(64, {3, 3}, 1, 1);
  const std::vector<TestInput> inputs = {data({1, 64, 28, 28}), constant({64, 64, 3, 3}),
                                         constant({64})};
  LayerTest test(op, inputs);
  ASSERT_EQ(test.offer("onednn_convolution"), "");
  const Tensor expected = test.reference();
  const int before = thread_count();
  std::vector<TensorSpec> specs;
  std::vector<AlignedBuffer> buffers;
  std::vector<const void*> addresses;
  for (size_t i = 0; i < inputs.size(); ++i) {
    specs.push_back(
        {DataType::kFLOAT, test.kernel().input_layouts[i], inputs[i].tensor->shape(), true});
    buffers.push_back(to_layout(*inputs[i].tensor, specs[i].layout));
    addresses.push_back(i == 1 ? nullptr : buffers.back().data());
  }
  const TensorSpec output{DataType::kFLOAT, test.kernel().output_layouts[0], test.output_shape(),
                          true};
  const auto execution = test.kernel().prepare(specs, {&output, 1});
  const auto scratch = allocate_aligned(execution->scratch_bytes());
  const auto result = allocate_aligned(storage_bytes(output.type, output.shape, output.layout));
  void* address = result.get();
  for (const int threads : {1, 4, 2}) {
    set_thread_count(threads);
    in_arena([&] { execution->run({addresses, {&address, 1}, scratch.get()}); });
    expect_close(from_layout(address, output), expected);
  }
  set_thread_count(before);
}

TEST(ConvolutionTest, HalfPrecisionIsLeftToTheReference) {
  const Convolution op = convolution(8, {3, 3}, 1, 1);
  LayerTest test(op, {{Tensor(DataType::kHALF, {1, 8, 5, 5}), false, Layout::kLinear},
                      {Tensor(DataType::kHALF, {8, 8, 3, 3}), true, Layout::kLinear}});
  EXPECT_EQ(test.offer("onednn_convolution"), "only float32 is supported");
}

struct DeconvolutionCase {
  const char* name;
  int64_t output_channels, groups;
  Shape kernel, stride, pre, post, extra, data;
};

class DeconvolutionTest : public testing::TestWithParam<DeconvolutionCase> {};

TEST_P(DeconvolutionTest, EqualsReference) {
  const auto& c = GetParam();
  Deconvolution op;
  op.output_channels = c.output_channels;
  op.groups = c.groups;
  op.kernel = c.kernel;
  op.stride = c.stride;
  op.dilation = Shape::filled(c.kernel.rank(), 1);
  op.pre_padding = c.pre;
  op.post_padding = c.post;
  op.output_padding = c.extra;
  op.epilogue = program(1, {}, {activation(ActivationType::kRELU, 0)});
  Shape weights = {c.data[1], c.output_channels / c.groups};
  for (const int64_t k : c.kernel) weights.push_back(k);
  for (const Layout layout : {Layout::kLinear, Layout::kBlocked16}) {
    LayerTest test(op, {data(c.data, 1, layout), constant(weights), constant({c.output_channels})});
    check(test, "onednn_deconvolution", 2e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DeconvolutionTest,
    testing::Values(
        DeconvolutionCase{"double", 16, 1, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {}, {1, 32, 7, 9}},
        DeconvolutionCase{"overlap", 7, 1, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {}, {2, 5, 7, 9}},
        DeconvolutionCase{"asymmetric", 8, 1, {3, 3}, {2, 2}, {0, 1}, {1, 0}, {}, {1, 8, 5, 5}},
        DeconvolutionCase{
            "output_padding", 8, 1, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 8, 5, 5}},
        DeconvolutionCase{"groups", 12, 4, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {}, {1, 8, 5, 5}},
        DeconvolutionCase{"depthwise", 16, 16, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {}, {1, 16, 5, 5}},
        DeconvolutionCase{
            "volume", 4, 1, {2, 3, 3}, {1, 2, 2}, {0, 1, 1}, {0, 1, 1}, {}, {1, 6, 3, 4, 5}}),
    [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace tenon::cpu
