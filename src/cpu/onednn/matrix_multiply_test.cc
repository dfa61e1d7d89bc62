#include "ops/matrix_multiply.h"

#include <gtest/gtest.h>

#include "backend/testing.h"

namespace tenon::cpu {
namespace {

TEST(MatrixMultiplyTest, WithoutTermsIsZeroHoweverItsWeightsWereStored) {
  LayerTest test(MatrixMultiply{}, {data({2, 0}), constant({0, 16})});
  ASSERT_EQ(test.offer("onednn_matrix_multiply"), "");
  StoredKernel turned = test.stored();
  for (auto& [name, value] : turned.state)
    if (name == "order") value = std::vector<int64_t>{1, 0};
  expect_identical(test.run(*test.load(turned)),
                   Tensor::of<float>(DataType::kFLOAT, {2, 16}, std::vector<float>(32)));
}

TEST(MatrixMultiplyTest, WithoutTermsIsItsBias) {
  for (const Shape& rows : {Shape{2, 0}, {5, 0}, {64, 0}}) {
    const Shape weights{0, 16};
    LayerTest test(MatrixMultiply{}, {data(rows), data(weights), constant({1, 16}, 3)});
    ASSERT_EQ(test.offer("onednn_matrix_multiply"), "");
    expect_identical(test.run(), test.reference());
  }
}

TEST(MatrixMultiplyTest, MayHaveNoTermsLater) {
  LayerTest test(MatrixMultiply{}, {data({2, 3}), data({3, 16})});
  ASSERT_EQ(test.offer("onednn_matrix_multiply"), "");
  test.set_inputs({data({2, 0}), data({0, 16})});
  expect_identical(test.run(), test.reference());
}

}  // namespace
}  // namespace tenon::cpu
