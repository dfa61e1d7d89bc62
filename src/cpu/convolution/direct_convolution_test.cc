#include "base/parallel.h"
#include "common/convolution_testing.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

constexpr char kDirectConvolutionName[] = "direct_convolution";

using DirectConvolutionCase = LayerCase<Convolution>;

class DirectConvolutionTest : public testing::TestWithParam<DirectConvolutionCase> {};

TEST_P(DirectConvolutionTest, EqualsReference) {
  const auto& [name, op, shape, has_bias] = GetParam();
  LayerTest test = layer(op, shape, has_bias);
  check(test, kDirectConvolutionName, 2e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DirectConvolutionTest,
    testing::Values(
        DirectConvolutionCase{"vectors", one_element(64), {1, 32, 12, 12}},
        DirectConvolutionCase{"odd", one_element(37), {2, 29, 9, 13}},
        DirectConvolutionCase{"odd_vectors", one_element(48), {1, 16, 20, 11}},
        DirectConvolutionCase{"few_output_channels", one_element(3), {3, 40, 5, 7}},
        DirectConvolutionCase{"deep", one_element(20), {1, 700, 3, 3}},
        DirectConvolutionCase{"many_blocks", one_element(33), {1, 17, 64, 65}},
        DirectConvolutionCase{"one_pixel", one_element(64), {2, 64, 1, 1}},
        DirectConvolutionCase{"halving", one_element(40, {2, 2}), {2, 24, 15, 14}},
        DirectConvolutionCase{"halving_rows", one_element(40, {2, 1}), {1, 24, 15, 14}},
        DirectConvolutionCase{"halving_columns", one_element(40, {1, 2}), {1, 24, 8, 31}},
        DirectConvolutionCase{"without_bias", one_element(16), {1, 16, 6, 5}, false},
        DirectConvolutionCase{"no_images", one_element(16), {0, 16, 6, 5}},
        DirectConvolutionCase{"one_channel", one_element(24), {2, 1, 9, 8}},
        DirectConvolutionCase{"stem", sliding(32, {3, 3}, {2, 2}, {1, 1}), {1, 3, 33, 40}},
        DirectConvolutionCase{"six", sliding(20, {6, 6}, {2, 2}, {2, 2}), {2, 3, 30, 46}},
        DirectConvolutionCase{"seven", sliding(64, {7, 7}, {2, 2}, {3, 3}), {1, 3, 56, 56}},
        DirectConvolutionCase{"square", sliding(64, {3, 3}, {1, 1}, {1, 1}), {2, 4, 21, 130}},
        DirectConvolutionCase{"unlike_axes", sliding(18, {5, 2}, {1, 2}, {2, 1}), {1, 2, 8, 23}},
        DirectConvolutionCase{
            "dilated",
            with(sliding(18, {3, 3}, {1, 1}, {2, 3}), [](auto& op) { op.dilation = {2, 3}; }),
            {2, 3, 9, 20}},
        DirectConvolutionCase{
            "asymmetric",
            with(sliding(16, {3, 3}, {2, 2}, {0, 0}), [](auto& op) { op.post_padding = {1, 2}; }),
            {1, 3, 12, 12}},
        DirectConvolutionCase{
            "same_upper",
            with(sliding(16, {5, 5}, {2, 2}, {0, 0}),
                 [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_UPPER; }),
            {1, 3, 13, 14}},
        DirectConvolutionCase{
            "padding_beyond_data", sliding(16, {3, 3}, {1, 1}, {4, 6}), {1, 3, 2, 1}},
        DirectConvolutionCase{
            "data_beyond_windows", sliding(16, {1, 1}, {2, 2}, {0, 0}), {1, 3, 9, 10}},
        DirectConvolutionCase{"no_rows", sliding(16, {2, 2}, {1, 1}, {1, 1}), {1, 3, 0, 4}},
        DirectConvolutionCase{
            "blocks_under_windows", sliding(40, {3, 3}, {1, 1}, {1, 1}), {2, 24, 7, 15}},
        DirectConvolutionCase{
            "halving_windows", sliding(64, {3, 3}, {2, 2}, {1, 1}), {1, 48, 14, 14}},
        DirectConvolutionCase{
            "many_channels", sliding(33, {3, 3}, {2, 2}, {1, 1}), {1, 130, 14, 14}},
        DirectConvolutionCase{
            "unlike_axes_of_blocks", sliding(16, {5, 2}, {1, 2}, {2, 1}), {1, 17, 8, 23}},
        DirectConvolutionCase{
            "dilated_blocks",
            with(sliding(18, {3, 3}, {1, 1}, {2, 3}), [](auto& op) { op.dilation = {2, 3}; }),
            {1, 16, 9, 20}},
        DirectConvolutionCase{
            "asymmetric_blocks",
            with(sliding(16, {3, 3}, {2, 2}, {0, 0}), [](auto& op) { op.post_padding = {1, 2}; }),
            {1, 16, 12, 12}},
        DirectConvolutionCase{
            "padded_elements", sliding(32, {1, 1}, {1, 1}, {1, 1}), {1, 16, 8, 8}},
        DirectConvolutionCase{"long_strides", sliding(20, {3, 5}, {3, 4}, {1, 2}), {2, 3, 20, 41}},
        DirectConvolutionCase{
            "long_strides_of_blocks", sliding(20, {3, 2}, {4, 3}, {1, 1}), {2, 20, 13, 14}},
        DirectConvolutionCase{"long_strides_of_elements", one_element(32, {3, 5}), {2, 16, 8, 13}},
        DirectConvolutionCase{"spectrum", sliding(40, {64, 1}, {32, 1}, {0, 0}), {3, 1, 208, 1}},
        DirectConvolutionCase{"column", sliding(40, {3, 1}, {1, 1}, {1, 0}), {3, 33, 9, 1}},
        DirectConvolutionCase{
            "dilated_column",
            with(sliding(18, {3, 1}, {2, 1}, {2, 0}), [](auto& op) { op.dilation = {2, 3}; }),
            {2, 17, 11, 1}},
        DirectConvolutionCase{
            "column_beside_padding", sliding(18, {3, 1}, {1, 1}, {1, 1}), {2, 17, 6, 1}},
        DirectConvolutionCase{
            "pixels_of_images", sliding(70, {3, 1}, {1, 1}, {1, 0}), {37, 33, 1, 1}},
        DirectConvolutionCase{
            "pixels_of_few_channels", sliding(18, {3, 2}, {1, 1}, {0, 0}), {5, 3, 3, 2}},
        DirectConvolutionCase{"pixels_without_windows", one_element(70), {9, 40, 1, 1}},
        DirectConvolutionCase{
            "no_columns",
            with(sliding(16, {3, 3}, {1, 1}, {0, 0}),
                 [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_UPPER; }),
            {1, 16, 4, 0}},
        DirectConvolutionCase{
            "line_without_pixels",
            with(sliding(16, {3, 1}, {1, 1}, {0, 0}),
                 [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_UPPER; }),
            {1, 16, 0, 1}},
        DirectConvolutionCase{
            "blocks_without_rows", sliding(16, {2, 2}, {1, 1}, {1, 1}), {1, 16, 0, 4}}),
    [](const auto& i) { return i.param.name; });

// Against sums of doubles. `adds`: whether a tensor is added to the results.
void check_direct_convolution_loops(const DirectKernels& loops, int64_t step,
                                    const DirectPixels& pixels, bool adds) {
  const int64_t lanes = loops.lanes, vectors = 3, width = vectors * lanes, depth = 21;
  const int64_t all = pixels.rows * pixels.count;
  const Tensor in = random_tensor({depth + pixels.rows * pixels.row_step + pixels.count * step}, 1);
  const Tensor weights = random_tensor({depth, width}, 2), bias = random_tensor({width}, 3);
  std::vector<int64_t> offsets;
  for (int64_t k = 0; k < depth; ++k) offsets.push_back((k * 5) % depth);
  Tensor out(DataType::kFLOAT, {vectors, all, lanes}), expected(DataType::kFLOAT, out.shape());
  const Tensor addend = random_tensor(out.shape(), 4);
  DirectForm form{offsets.data(), depth, step, all * lanes, lanes, -0.75f, 1.5f};
  if (adds) form.addend = addend.data<float>();
  form.result = out.data<float>();
  loops.run(form, in.data<float>(), weights.data<float>(), width,
            {weights.data<float>(), weights.count()}, bias.data<float>(), vectors, pixels,
            out.mutable_data<float>());
  for_each_index(out.shape(), [&](int64_t i, const Shape& at) {
    const int64_t output_channel = at[0] * lanes + at[2];
    const int64_t first = at[1] / pixels.count * pixels.row_step + at[1] % pixels.count * step;
    double sum =
        double{bias.data<float>()[output_channel]} + (adds ? double{addend.data<float>()[i]} : 0);
    for (int64_t k = 0; k < depth; ++k)
      sum += double{in.data<float>()[offsets[static_cast<size_t>(k)] + first]}
             * double{weights.data<float>()[k * width + output_channel]};
    expected.mutable_data<float>()[i] = static_cast<float>(std::clamp(sum, -0.75, 1.5));
  });
  expect_close(out, expected);
}

TEST(DirectConvolutionTest, AllInstructionSetsAgree) {
  for (const SimdKernels* kernels : supported_simd_kernels()) {
    const DirectKernels& loops = kernels->direct;
    for (const int64_t step : {1, 2, 7, loops.lanes, 2 * loops.lanes})
      for (const bool is_far : {false, true})
        for (const bool adds : {false, true}) {
          check_direct_convolution_loops(loops, step, {31, 1, 0, is_far}, adds);
          for (int64_t count = 1; count <= loops.short_row; ++count)
            check_direct_convolution_loops(loops, step, {count, 2, 10 * loops.lanes, is_far}, adds);
        }
  }
}

struct DirectConvolutionEpilogueCase {
  const char* name;
  PointwiseProgram program;
  std::vector<Shape> operands;  // beside a result of 2x21x9x13
};

class DirectEpilogueTest : public testing::TestWithParam<DirectConvolutionEpilogueCase> {};

TEST_P(DirectEpilogueTest, EqualsReference) {
  const auto& [name, program, operands] = GetParam();
  for (const auto& [plain, shape] : {std::pair{one_element(21), Shape{2, 40, 9, 13}},
                                     {sliding(21, {3, 3}, {1, 1}, {1, 1}), Shape{2, 3, 9, 13}},
                                     {sliding(21, {2, 1}, {2, 1}, {0, 0}), Shape{2, 20, 18, 13}}}) {
    Convolution op = plain;
    op.epilogue = program;
    std::vector<TestInput> inputs = {data(shape, 1), constant(weights_of(op, shape[1])),
                                     constant({21}, 3)};
    for (const Shape& operand : operands) inputs.push_back(data(operand, 11));
    LayerTest test(op, inputs);
    check(test, kDirectConvolutionName, 2e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Programs, DirectEpilogueTest,
    testing::Values(
        DirectConvolutionEpilogueCase{"relu", {1, {}, {activation(ActivationType::kRELU, 0)}}, {}},
        DirectConvolutionEpilogueCase{
            "clip_without_zero", {1, {}, {activation(ActivationType::kCLIP, 0, 0.25f, 0.5f)}}, {}},
        DirectConvolutionEpilogueCase{
            "silu",
            {1,
             {},
             {activation(ActivationType::kSIGMOID, 0), binary(ElementWiseOperation::kPROD, 0, 1)}},
            {}},
        DirectConvolutionEpilogueCase{
            "residual",
            {2,
             {},
             {binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)}},
            {{2, 21, 9, 13}}},
        DirectConvolutionEpilogueCase{
            "sum", {2, {}, {binary(ElementWiseOperation::kSUM, 1, 0)}}, {{2, 21, 9, 13}}},
        DirectConvolutionEpilogueCase{
            "sum_unused",
            {2,
             {},
             {binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 0)}},
            {{2, 21, 9, 13}}},
        DirectConvolutionEpilogueCase{
            "sum_of_two",
            {3,
             {},
             {binary(ElementWiseOperation::kSUM, 0, 2), binary(ElementWiseOperation::kSUM, 1, 3)}},
            {{2, 21, 9, 13}, {2, 21, 9, 13}}},
        DirectConvolutionEpilogueCase{
            "sum_with_one_image",
            {2,
             {},
             {binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)}},
            {{1, 21, 9, 13}}},
        DirectConvolutionEpilogueCase{"sum_within_bounds_without_zero",
                                      {2,
                                       {},
                                       {binary(ElementWiseOperation::kSUM, 0, 1),
                                        activation(ActivationType::kCLIP, 2, 0.25f, 0.5f)}},
                                      {{2, 21, 9, 13}}},
        DirectConvolutionEpilogueCase{
            "twice", {1, {}, {binary(ElementWiseOperation::kSUM, 0, 0)}}, {}},
        DirectConvolutionEpilogueCase{
            "sum_with_a_constant", {1, {3.5f}, {binary(ElementWiseOperation::kSUM, 0, 1)}}, {}},
        DirectConvolutionEpilogueCase{
            "constant_and_channels",
            {2,
             {3.5f},
             {binary(ElementWiseOperation::kPROD, 0, 1), binary(ElementWiseOperation::kSUM, 3, 2)}},
            {{1, 21, 1, 1}}}),
    [](const auto& i) { return i.param.name; });

TEST(DirectConvolutionTest, PixelsOfImagesWithEpilogue) {
  Convolution op = sliding(21, {3, 1}, {1, 1}, {1, 0});
  for (const auto type : {ActivationType::kSIGMOID, ActivationType::kRELU}) {
    op.epilogue = {2, {}, {binary(ElementWiseOperation::kSUM, 0, 1), activation(type, 2)}};
    LayerTest test(op, {data({19, 40, 1, 1}, 1), constant(weights_of(op, 40)), constant({21}, 3),
                        data({19, 21, 1, 1}, 11)});
    check(test, kDirectConvolutionName, 2e-6);
  }
}

TEST(DirectConvolutionTest, OtherShapesWithTheSameKernel) {
  for (const auto& [op, first] : {std::pair{one_element(40, {1, 1}), Shape{1, 24, 56, 56}},
                                  {sliding(40, {3, 3}, {2, 2}, {1, 1}), Shape{1, 24, 14, 14}}}) {
    LayerTest test = layer(op, first);
    ASSERT_EQ(test.offer(kDirectConvolutionName), "");
    for (const Shape& shape : {Shape{4, 24, 7, 5}, Shape{1, 24, 1, 1}, Shape{3, 24, 33, 70}}) {
      test.set_inputs({data(shape, 7), constant(weights_of(op, 24)), constant({40}, 3)});
      expect_close(test.run(), test.reference(), 2e-6);
    }
  }
}

TEST(DirectConvolutionTest, WideWindowsOverManyChannelsAreLeftToOthers) {
  const auto op =
      with(sliding(16, {3, 3}, {1, 1}, {400, 400}), [](auto& o) { o.dilation = {400, 400}; });
  EXPECT_EQ(layer(op, {1, 64, 10, 10}).offer(kDirectConvolutionName),
            "kernel_shape, dilations and channels need more than 16 MiB of workspace per thread");
}

TEST(DirectConvolutionTest, ThreadsDoNotMatter) {
  for (const auto& [op, shape] : {std::pair{one_element(200), Shape{1, 96, 30, 31}},
                                  {one_element(64), Shape{2, 512, 7, 7}},
                                  {sliding(48, {3, 3}, {2, 2}, {1, 1}), Shape{1, 3, 61, 64}},
                                  {sliding(48, {3, 3}, {2, 2}, {1, 1}), Shape{2, 40, 21, 24}}}) {
    LayerTest test = layer(op, shape);
    ASSERT_EQ(test.offer(kDirectConvolutionName), "");
    expect_identical_with(test, {1, 2, 5});
  }
}

TEST(DirectConvolutionTest, DamagedStoredKernelsAreErrors) {
  LayerTest test = layer(one_element(40), {1, 32, 8, 8});
  ASSERT_EQ(test.offer(kDirectConvolutionName), "");
  const auto error_after = [&](auto&& damage) { return error_of_stored(test, damage); };
  EXPECT_EQ(error_after([](StoredKernel&) {}), "");
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed.pop_back(); }),
              testing::HasSubstr("expected weights and bias"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[0] = Tensor(DataType::kFLOAT, {7}); }),
              testing::HasSubstr("do not fit 32 elements"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[1] = Tensor(DataType::kFLOAT, {32}); }),
              testing::HasSubstr("do not fit 32 elements"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[1] = Tensor(DataType::kINT32, {48}); }),
              testing::HasSubstr("expected weights and bias"));
}

// A plan may be damaged in what it says of tensors, too.
TEST(DirectConvolutionTest, OtherChannelsOrLayoutsThanWeightsAreForAreErrors) {
  LayerTest test = layer(one_element(32), {1, 32, 8, 8});
  ASSERT_EQ(test.offer(kDirectConvolutionName), "");
  const auto error_with = [&](int64_t channels, int64_t output_channels, Layout layout) {
    const TensorSpec inputs[] = {{DataType::kFLOAT, layout, {1, channels, 8, 8}},
                                 {DataType::kFLOAT, Layout::kLinear, {32, channels, 1, 1}},
                                 {DataType::kFLOAT, Layout::kLinear, {32}}};
    const TensorSpec output{
        DataType::kFLOAT, test.kernel().output_layouts[0], {1, output_channels, 8, 8}};
    return error_of([&] { test.kernel().prepare(inputs, {&output, 1}); });
  };
  EXPECT_EQ(error_with(32, 32, test.kernel().output_layouts[0]), "");
  EXPECT_NE(error_with(64, 32, test.kernel().output_layouts[0]), "");
  EXPECT_NE(error_with(32, 64, test.kernel().output_layouts[0]), "");
  EXPECT_THAT(error_with(32, 32, Layout::kLinear),
              testing::HasSubstr("few channels of data in rows"));
  EXPECT_THAT(error_with(32, 32, Layout::kChannelsLast), testing::HasSubstr("must lie in blocks"));
}

TEST(DirectConvolutionTest, WindowsBehindTheDataSeePadding) {
  using nvinfer1::PaddingMode;
  const auto rounded = with(one_element(32, {2, 2}),
                            [](auto& op) { op.padding_mode = PaddingMode::kEXPLICIT_ROUND_UP; });
  const auto halved = with(one_element(32, {2, 2}), [](auto& op) { op.post_padding = {1, 0}; });
  for (const auto& op : {rounded, halved})
    for (const int64_t extent : {8, 9}) {
      LayerTest test = layer(op, {1, 16, extent, extent});
      check(test, kDirectConvolutionName, 2e-6);
    }
}

TEST(DirectConvolutionTest, IsForOneGroup) {
  EXPECT_THAT(
      layer(sliding(32, {1, 1}, {1, 1}, {0, 0}, 2), {1, 16, 8, 8}).offer(kDirectConvolutionName),
      testing::HasSubstr("group 1"));
  EXPECT_THAT(layer(sliding(32, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}), {1, 16, 8, 8, 8})
                  .offer(kDirectConvolutionName),
              testing::HasSubstr("spatial axes"));
}

}  // namespace
}  // namespace tenon::cpu
