#include <cmath>

#include "base/parallel.h"
#include "common/convolution_testing.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using ::testing::HasSubstr;

constexpr char kPackedConvolutionName[] = "packed_convolution";

using PackedConvolutionCase = LayerCase<Convolution>;

class PackedConvolutionTest : public testing::TestWithParam<PackedConvolutionCase> {};

TEST_P(PackedConvolutionTest, EqualsReference) {
  const auto& [name, op, shape, has_bias] = GetParam();
  LayerTest test = layer(op, shape, has_bias);
  check(test, kPackedConvolutionName, 2e-6);
}

// A sum, then a ReLU, which the loop does itself; and an epilogue behind the loop.
TEST_P(PackedConvolutionTest, ComputesEpilogues) {
  const auto& [name, plain, shape, has_bias] = GetParam();
  const auto sum = binary(ElementWiseOperation::kSUM, 0, 1);
  for (const auto& after :
       {activation(ActivationType::kRELU, 2), activation(ActivationType::kLEAKY_RELU, 2, 0.1f)}) {
    Convolution op = plain;
    op.epilogue = {2, {}, {sum, after}};
    auto inputs = inputs_of(op, shape);
    inputs.push_back(data(layer(plain, shape).output_shape(), 11));
    LayerTest test(op, inputs);
    check(test, kPackedConvolutionName, 3e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, PackedConvolutionTest,
    testing::Values(
        PackedConvolutionCase{"vectors", one_element(64), {1, 32, 12, 12}},
        PackedConvolutionCase{"odd", one_element(37), {2, 29, 9, 13}},
        PackedConvolutionCase{"odd_vectors", one_element(48), {1, 16, 20, 11}},
        PackedConvolutionCase{"few_output_channels", one_element(3), {3, 40, 5, 7}},
        PackedConvolutionCase{"blocks_of_channels", one_element(20), {1, 2000, 3, 5}},
        PackedConvolutionCase{"odd_blocks_of_channels", one_element(40), {2, 1541, 4, 4}},
        PackedConvolutionCase{"many_blocks", one_element(33), {1, 17, 64, 65}},
        PackedConvolutionCase{"one_pixel", one_element(64), {2, 64, 1, 1}},
        PackedConvolutionCase{"halving", one_element(40, {2, 2}), {2, 24, 15, 14}},
        PackedConvolutionCase{"halving_rows", one_element(40, {2, 1}), {1, 24, 15, 14}},
        PackedConvolutionCase{"halving_columns", one_element(40, {1, 2}), {1, 24, 8, 31}},
        PackedConvolutionCase{"long_strides", one_element(32, {3, 5}), {2, 16, 8, 13}},
        PackedConvolutionCase{"without_bias", one_element(16), {1, 16, 6, 5}, false},
        PackedConvolutionCase{"one_channel", one_element(24), {2, 1, 9, 8}},
        PackedConvolutionCase{"no_images", one_element(16), {0, 16, 6, 5}}),
    [](const auto& i) { return i.param.name; });

// Against sums of doubles. `adds`: whether a tensor is added to the results.
void check_packed_rows(const DirectKernels& loops, int64_t rows, int64_t vectors, int64_t depth,
                       bool adds) {
  const int64_t lanes = loops.lanes, width = 2 * lanes;
  const int64_t padded = (depth + lanes - 1) / lanes * lanes;
  const Tensor rows_panel = random_tensor({padded * rows}, 1);
  const Tensor weights = random_tensor({depth, width}, 2), bias = random_tensor({width}, 3);
  Tensor out(DataType::kFLOAT, {vectors, rows, lanes}), expected(DataType::kFLOAT, out.shape());
  const Tensor addend = random_tensor(out.shape(), 4);
  DirectForm form{nullptr, depth, 0, rows * lanes, lanes, -0.75f, 1.5f};
  if (adds) form.addend = addend.data<float>();
  form.result = out.data<float>();
  loops.run_packed(form, rows_panel.data<float>(), rows, weights.data<float>(), width,
                   {weights.data<float>(), weights.count()}, bias.data<float>(), vectors,
                   out.mutable_data<float>());
  for_each_index(out.shape(), [&](int64_t i, const Shape& at) {
    const int64_t output_channel = at[0] * lanes + at[2];
    double sum =
        double{bias.data<float>()[output_channel]} + (adds ? double{addend.data<float>()[i]} : 0);
    for (int64_t k = 0; k < depth; ++k)
      sum += double{rows_panel.data<float>()[k / lanes * rows * lanes + at[1] * lanes + k % lanes]}
             * double{weights.data<float>()[k * width + output_channel]};
    expected.mutable_data<float>()[i] = static_cast<float>(std::clamp(sum, -0.75, 1.5));
  });
  expect_close(out, expected);
}

TEST(PackedConvolutionTest, AllInstructionSetsAgree) {
  for (const SimdKernels* kernels : supported_simd_kernels())
    for (int64_t rows = 1; rows <= kernels->direct.max_panel_rows; ++rows)
      for (const int64_t vectors : {1, 2})
        for (const int64_t depth : {0, 5, 16, 45})
          for (const bool adds : {false, true})
            check_packed_rows(kernels->direct, rows, vectors, depth, adds);
}

TEST(PackedConvolutionTest, DoesNotDependOnThreads) {
  LayerTest test = layer(one_element(256), {2, 80, 15, 16});
  ASSERT_EQ(test.offer(kPackedConvolutionName), "");
  expect_identical_with(test, {1, 2, 5});
}

TEST(PackedConvolutionTest, SaysWhatItDoesNotTake) {
  const auto refusal = [](const Convolution& op) {
    return layer(op, {1, 16, 8, 8}).offer(kPackedConvolutionName);
  };
  EXPECT_THAT(refusal(sliding(16, {3, 3}, {1, 1}, {1, 1})), HasSubstr("windows of one element"));
  EXPECT_THAT(refusal(sliding(16, {1, 1}, {1, 1}, {1, 0})), HasSubstr("windows of one element"));
  EXPECT_THAT(refusal(sliding(16, {1, 1}, {1, 1}, {0, 0}, 2)), HasSubstr("group 1"));
}

TEST(PackedConvolutionTest, DamagedPlansAreRefused) {
  LayerTest test = layer(one_element(48), {1, 24, 5, 5});
  ASSERT_EQ(test.offer(kPackedConvolutionName), "");
  EXPECT_THAT(error_of_stored(test, [](StoredKernel& s) { s.packed.pop_back(); }),
              HasSubstr("expected weights and bias"));
  EXPECT_THAT(
      error_of_stored(test, [](StoredKernel& s) { s.packed[0] = Tensor(DataType::kFLOAT, {7}); }),
      HasSubstr("do not fit 24 channels and 48 output channels"));
  // As a machine with vectors of another length packs them.
  EXPECT_THAT(error_of_stored(test,
                              [](StoredKernel& s) {
                                const Shape& rows = s.packed[0].shape();
                                s.packed[0] = Tensor(DataType::kFLOAT, {rows[0] * rows[1] / 4, 4});
                              }),
              HasSubstr("do not fit 24 channels and 48 output channels"));
}

}  // namespace
}  // namespace tenon::cpu
