// What is cuBLAS's own: epilogues, other shapes, variants, rounding.
#include "ops/matrix_multiply.h"

#include "common/suites/epilogue_testing.h"
#include "common/suites/float_types_testing.h"
#include "cuda/cuda_target.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ActivationType;

TEST(CudaMatrixMultiplyTest, FusesSumsAndActivations) {
  for (const bool adds : {false, true})
    for (const auto activation :
         {ActivationType::kRELU, ActivationType::kGELU_ERF, ActivationType::kGELU_TANH})
      EXPECT_TRUE(cuda_target().fuses(MatrixMultiply(), sum_and_activation(adds, activation)));
}

TEST(CudaMatrixMultiplyTest, LeavesOtherEpiloguesAlone) {
  EXPECT_FALSE(
      cuda_target().fuses(MatrixMultiply(), sum_and_activation(false, ActivationType::kSOFTPLUS)));
  PointwiseProgram behind = sum_and_activation(true, ActivationType::kRELU);
  behind.steps = {{PointwiseStep::Family::kActivation, 0, 0},
                  {PointwiseStep::Family::kElementWise, 0, behind.step_register(0), 1}};
  EXPECT_FALSE(cuda_target().fuses(MatrixMultiply(), behind));
}

// A context with other shapes than those the algorithm was chosen for.
TEST(CudaMatrixMultiplyTest, OtherShapesLater) {
  LayerTest test(MatrixMultiply(), {data({4, 5, 64}, 1), data({1, 64, 32}, 2)}, cuda_target());
  ASSERT_EQ(test.offer("cublas_matrix_multiply"), "");
  for (int64_t n : {1, 3, 200}) {
    test.set_inputs({data({n, 5, 64}, 1), data({1, 64, 32}, 2)});
    expect_close(test.run(), test.reference(), 1e-5);
  }
}

TEST(CudaMatrixMultiplyTest, EveryVariant) {
  for (const DataType type : kFloatTypes) {
    LayerTest test(MatrixMultiply(), in_type(type, {data({128, 256}, 1), data({256, 64}, 2)}),
                   cuda_target());
    ASSERT_EQ(test.offer("cublas_matrix_multiply"), "");
    for (const auto& variant : test.kernel().variants()) {
      SCOPED_TRACE(variant->variant);
      expect_close(test.run(*variant), test.reference(), tolerance_of(type));
    }
  }
}

TEST(CudaMatrixMultiplyTest, FloatsAreNotRoundedToTf32) {
  // 1 + 2^-12 is not a TF32 number.
  const float x = 1 + 1.f / 4096;
  const auto filled = [&](const Shape& shape) {
    Tensor t(DataType::kFLOAT, shape);
    std::fill_n(t.mutable_data<float>(), t.count(), x);
    return TestInput{t, false, Layout::kLinear};
  };
  LayerTest test(MatrixMultiply(), {filled({64, 64}), filled({64, 64})}, cuda_target());
  ASSERT_EQ(test.offer("cublas_matrix_multiply"), "");
  expect_close(test.run(), test.reference(), 1e-6);
}

}  // namespace
}  // namespace tenon::cuda
