#include <gtest/gtest.h>

#include "common/convolution_testing.h"
#include "cpu/simd/kernels.h"
#include "ops/matrix_multiply.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;
using ::testing::HasSubstr;

constexpr const char* kDirectMatrixMultiplyName = "direct_matrix_multiply";
constexpr double kDirectMatrixMultiplyRelative = 3e-6;

struct DirectMatrixMultiplyCase {
  const char* name;
  Shape rows, matrix;
  MatrixOperation operation = MatrixOperation::kNONE;
  int64_t bias = 0;  // elements, 0 for none
};

std::vector<TestInput> inputs_of(const DirectMatrixMultiplyCase& c) {
  std::vector<TestInput> inputs{data(c.rows), constant(c.matrix)};
  if (c.bias > 0) inputs.push_back(constant({c.bias}, 3));
  return inputs;
}

MatrixMultiply op_of(const DirectMatrixMultiplyCase& c) {
  MatrixMultiply op;
  op.operation_b = c.operation;
  return op;
}

class DirectMatrixMultiplyTest : public testing::TestWithParam<DirectMatrixMultiplyCase> {};

TEST_P(DirectMatrixMultiplyTest, EqualsReference) {
  LayerTest test(op_of(GetParam()), inputs_of(GetParam()));
  check(test, kDirectMatrixMultiplyName, kDirectMatrixMultiplyRelative);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DirectMatrixMultiplyTest,
    testing::Values(DirectMatrixMultiplyCase{"square", {64, 64}, {64, 64}},
                    DirectMatrixMultiplyCase{
                        "transposed", {40, 48}, {96, 48}, MatrixOperation::kTRANSPOSE, 96},
                    DirectMatrixMultiplyCase{
                        "odd_rows_and_terms", {197, 37}, {37, 80}, MatrixOperation::kNONE, 80},
                    DirectMatrixMultiplyCase{"batch", {3, 5, 50}, {1, 50, 16}},
                    DirectMatrixMultiplyCase{
                        "batches", {2, 3, 29, 20}, {1, 1, 20, 112}, MatrixOperation::kNONE, 112},
                    DirectMatrixMultiplyCase{"one_row", {1, 700}, {700, 160}},
                    DirectMatrixMultiplyCase{"deep", {30, 5000}, {5000, 32}},
                    DirectMatrixMultiplyCase{
                        "deep_and_many", {150, 2311}, {2311, 48}, MatrixOperation::kNONE, 48},
                    DirectMatrixMultiplyCase{"many_rows", {3000, 24}, {24, 48}},
                    DirectMatrixMultiplyCase{"no_rows", {0, 24}, {24, 48}}),
    [](const auto& i) { return i.param.name; });

TEST_P(DirectMatrixMultiplyTest, ComputesEpilogues) {
  const DirectMatrixMultiplyCase& c = GetParam();
  const Shape result = LayerTest(op_of(c), inputs_of(c)).output_shape();
  const auto with_program = [&](std::vector<PointwiseStep> steps, std::vector<Shape> operands) {
    MatrixMultiply op = op_of(c);
    op.epilogue.inputs = 1 + static_cast<int32_t>(operands.size());
    op.epilogue.steps = std::move(steps);
    auto inputs = inputs_of(c);
    inputs.resize(3);
    for (const Shape& shape : operands) inputs.push_back(data(shape, 7));
    LayerTest test(op, inputs);
    check(test, kDirectMatrixMultiplyName, kDirectMatrixMultiplyRelative);
  };
  with_program({activation(ActivationType::kRELU, 0)}, {});
  with_program({activation(ActivationType::kGELU_ERF, 0)}, {});
  with_program(
      {binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kLEAKY_RELU, 2, 0.1f)},
      {result});
  with_program({binary(ElementWiseOperation::kSUM, 1, 0)}, {result});
  with_program({binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)},
               {result});
  with_program({binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 0)},
               {result});
  Shape row = Shape::filled(result.rank(), 1);
  row[row.rank() - 1] = result.back();
  for (const auto operation : {ElementWiseOperation::kPROD, ElementWiseOperation::kSUM})
    with_program({binary(operation, 0, 1)}, {row});
}

TEST(DirectMatrixMultiplyTest, RunsAtOtherShapes) {
  const DirectMatrixMultiplyCase c{"", {2, 30, 40}, {1, 40, 64}};
  LayerTest test(op_of(c), inputs_of(c));
  ASSERT_EQ(test.offer(kDirectMatrixMultiplyName), "");
  for (const Shape& rows : {Shape{1, 7, 40}, Shape{5, 100, 40}, Shape{3, 0, 40}}) {
    test.set_inputs({data(rows), constant(c.matrix)});
    expect_close(test.run(), test.reference(), kDirectMatrixMultiplyRelative);
  }
}

TEST(DirectMatrixMultiplyTest, DoesNotDependOnThreads) {
  const DirectMatrixMultiplyCase c{"", {100, 40}, {40, 256}};
  LayerTest test(op_of(c), inputs_of(c));
  ASSERT_EQ(test.offer(kDirectMatrixMultiplyName), "");
  expect_identical_with(test, {1, 2, 5});
}

TEST(DirectMatrixMultiplyTest, SaysWhatItDoesNotTake) {
  const auto refusal = [](const DirectMatrixMultiplyCase& c) {
    return LayerTest(op_of(c), inputs_of(c)).offer(kDirectMatrixMultiplyName);
  };
  EXPECT_THAT(refusal({"", {8, 8}, {8, 20}}), HasSubstr("20 columns do not fill vectors"));
  EXPECT_THAT(refusal({"", {2, 8, 8}, {2, 8, 16}}), HasSubstr("rows times one matrix"));
  EXPECT_THAT(refusal({"", {8, 8}, {8}, MatrixOperation::kVECTOR}), HasSubstr("times a matrix"));
  LayerTest both(MatrixMultiply(), {data({8, 8}), data({8, 16})});
  EXPECT_THAT(both.offer(kDirectMatrixMultiplyName), HasSubstr("constant weights"));
  LayerTest per_row(MatrixMultiply(), {data({8, 8}), constant({8, 16}), constant({8, 1})});
  EXPECT_THAT(per_row.offer(kDirectMatrixMultiplyName), HasSubstr("bias for each column"));
}

TEST(DirectMatrixMultiplyTest, DamagedPlansAreRefused) {
  const DirectMatrixMultiplyCase c{"", {8, 24}, {24, 48}, MatrixOperation::kNONE, 48};
  LayerTest test(op_of(c), inputs_of(c));
  ASSERT_EQ(test.offer(kDirectMatrixMultiplyName), "");
  EXPECT_THAT(error_of_stored(test, [](StoredKernel& s) { s.packed.pop_back(); }),
              HasSubstr("expected weights and bias"));
  EXPECT_THAT(
      error_of_stored(test, [](StoredKernel& s) { s.packed[0] = Tensor(DataType::kFLOAT, {7}); }),
      HasSubstr("are not packed for vectors of"));
  EXPECT_THAT(error_of_stored(test,
                              [](StoredKernel& s) {
                                const int64_t lanes = simd_kernels().direct.lanes;
                                s.packed[0] = Tensor(DataType::kFLOAT, {7, lanes});
                              }),
              HasSubstr("do not fit 24 terms and 48 columns"));
  const TensorSpec inputs[] = {{DataType::kFLOAT, Layout::kLinear, {8, 23}},
                               {DataType::kFLOAT, Layout::kLinear, {24, 48}},
                               {DataType::kFLOAT, Layout::kLinear, {48}}};
  const TensorSpec output{DataType::kFLOAT, Layout::kLinear, {8, 48}};
  EXPECT_NE(error_of([&] { test.kernel().prepare(inputs, {&output, 1}); }), "");
}

}  // namespace
}  // namespace tenon::cpu
