#include <gtest/gtest.h>

#include "cpu/bfloat_testing.h"
#include "cpu/simd/bfloat_product.h"
#include "ops/matrix_multiply.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;
using ::testing::HasSubstr;

constexpr const char* kBfloatMultiplyName = "bfloat_matrix_multiply";

struct BfloatMultiplyCase {
  Shape rows, matrix;
  MatrixOperation operation = MatrixOperation::kNONE;
  int64_t bias = 0;  // elements, 0 for none
};

// Tiles, steps and pairs of them that are full and not.
const BfloatMultiplyCase kBfloatMultiplyCases[] = {
    {{64, 64}, {64, 64}},
    {{1, 1}, {1, 1}},
    {{40, 48}, {90, 48}, MatrixOperation::kTRANSPOSE, 90},
    {{197, 37}, {37, 80}, MatrixOperation::kNONE, 80},
    {{3, 5, 50}, {1, 50, 17}},
    {{2, 3, 29, 20}, {1, 1, 20, 112}, MatrixOperation::kNONE, 112},
    {{1, 700}, {700, 160}},
    {{49, 2311}, {2311, 48}, MatrixOperation::kNONE, 48},
    {{3000, 24}, {48, 24}, MatrixOperation::kTRANSPOSE},
    {{0, 24}, {24, 48}},
};

std::vector<TestInput> inputs_of(const BfloatMultiplyCase& c) {
  std::vector<TestInput> inputs{data(c.rows), constant(c.matrix)};
  if (c.bias > 0) inputs.push_back(constant({c.bias}, 3));
  return inputs;
}

MatrixMultiply op_of(const BfloatMultiplyCase& c) {
  MatrixMultiply op;
  op.operation_b = c.operation;
  return op;
}

class BfloatMultiplyTest : public testing::Test {
 protected:
  void SetUp() override {
    if (bfloat_kernels() == nullptr) GTEST_SKIP() << kNoBfloat;
  }
};

TEST_F(BfloatMultiplyTest, EqualsReference) {
  for (const BfloatMultiplyCase& c : kBfloatMultiplyCases) {
    SCOPED_TRACE(fmt::format("{} by {}", c.rows, c.matrix));
    LayerTest test = bfloat_layer(op_of(c), inputs_of(c));
    check(test, kBfloatMultiplyName, 3e-6);
  }
}

TEST_F(BfloatMultiplyTest, RoundsWhatItMultiplies) {
  LayerTest test(MatrixMultiply(), inputs_of({{50, 100}, {100, 40}}));
  test.allow_bf16();
  ASSERT_EQ(test.offer(kBfloatMultiplyName), "");
  const Tensor exact = test.reference();
  const LayerTest rounded = bfloat_layer(MatrixMultiply(), inputs_of({{50, 100}, {100, 40}}));
  expect_close(test.run(), rounded.reference(), 3e-6);
  expect_close(test.run(), exact, 1. / 256);
}

TEST_F(BfloatMultiplyTest, ComputesEpilogues) {
  for (const BfloatMultiplyCase& c : kBfloatMultiplyCases) {
    SCOPED_TRACE(fmt::format("{} by {}", c.rows, c.matrix));
    const Shape result = LayerTest(op_of(c), inputs_of(c)).output_shape();
    const auto with_program = [&](std::vector<PointwiseStep> steps, bool has_operand) {
      MatrixMultiply op = op_of(c);
      op.epilogue.inputs = has_operand ? 2 : 1;
      op.epilogue.steps = std::move(steps);
      auto inputs = inputs_of(c);
      inputs.resize(3);
      if (has_operand) inputs.push_back(data(result, 7));
      LayerTest test = bfloat_layer(op, inputs);
      check(test, kBfloatMultiplyName, 3e-6);
    };
    with_program({activation(ActivationType::kRELU, 0)}, false);
    with_program({activation(ActivationType::kGELU_ERF, 0)}, false);
    with_program({binary(ElementWiseOperation::kSUM, 1, 0)}, true);
    with_program({binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)},
                 true);
    with_program({binary(ElementWiseOperation::kPROD, 0, 1)}, true);
  }
}

TEST_F(BfloatMultiplyTest, RunsAtOtherShapes) {
  const BfloatMultiplyCase c{{2, 30, 40}, {1, 40, 64}};
  LayerTest test = bfloat_layer(op_of(c), inputs_of(c));
  ASSERT_EQ(test.offer(kBfloatMultiplyName), "");
  for (const Shape& rows : {Shape{1, 7, 40}, Shape{5, 100, 40}, Shape{3, 0, 40}}) {
    test.set_inputs({{rounded_to_bfloat(random_tensor(rows, 5))},
                     {rounded_to_bfloat(*constant(c.matrix).tensor), true}});
    expect_close(test.run(), test.reference(), 3e-6);
  }
}

TEST_F(BfloatMultiplyTest, DoesNotDependOnThreads) {
  LayerTest test = bfloat_layer(MatrixMultiply(), inputs_of({{100, 40}, {40, 256}}));
  ASSERT_EQ(test.offer(kBfloatMultiplyName), "");
  expect_identical_with(test, {1, 2, 5});
}

TEST_F(BfloatMultiplyTest, DamagedPlansAreRefused) {
  LayerTest test = bfloat_layer(MatrixMultiply(), inputs_of({{8, 24}, {24, 48}}));
  ASSERT_EQ(test.offer(kBfloatMultiplyName), "");
  EXPECT_THAT(error_of_stored(test, [](StoredKernel& s) { s.packed.pop_back(); }),
              HasSubstr("expected weights and bias"));
  EXPECT_THAT(
      error_of_stored(test, [](StoredKernel& s) { s.packed[0] = Tensor(DataType::kBF16, {7}); }),
      HasSubstr("do not fit 24 terms and 48 columns"));
}

TEST(BfloatRefusalsTest, SayWhatIsNotTaken) {
  LayerTest exact(MatrixMultiply(), inputs_of({{8, 24}, {24, 48}}));
  EXPECT_THAT(exact.offer(kBfloatMultiplyName), HasSubstr("does not compute in bfloat16"));
  if (bfloat_kernels() != nullptr) GTEST_SKIP() << "AVX512_BF16";
  LayerTest rounded = bfloat_layer(MatrixMultiply(), inputs_of({{8, 24}, {24, 48}}));
  EXPECT_THAT(rounded.offer(kBfloatMultiplyName), HasSubstr("does not multiply bfloat16"));
  ASSERT_EQ(rounded.offer("reference"), "");
  EXPECT_THAT(error_of([&] {
                const TensorSpec specs[] = {{DataType::kFLOAT, Layout::kLinear, {8, 24}},
                                            {DataType::kFLOAT, Layout::kLinear, {24, 48}}};
                const TensorSpec output{DataType::kFLOAT, Layout::kLinear, {8, 48}};
                const std::vector<const Tensor*> none(2, nullptr);
                load_kernel(tested().target, kBfloatMultiplyName,
                            {MatrixMultiply(), specs, {&output, 1}, none});
              }),
              HasSubstr("the processor has no AVX512_BF16"));
}

}  // namespace
}  // namespace tenon::cpu
