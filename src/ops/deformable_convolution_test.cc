#include "ops/deformable_convolution.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

DeformableConvolution plain() {
  DeformableConvolution op;
  op.stride = op.dilation = Shape{1, 1};
  op.pre_padding = op.post_padding = Shape{0, 0};
  return op;
}

TEST(DeformableConvolution, AgreesWithOnnx) {
  run_cases("deformable_convolution");
}

TEST(DeformableConvolution, AnyOffsetIsSafe) {
  const auto y = run(plain(), {input(make<float>({1, 1, 1, 3}, {1, 2, 3})),
                               constant(make<float>({1, 1, 1, 1}, {2})),
                               input(make<float>({1, 2, 1, 3}, {NAN, 0, 0, 0, INFINITY, -1e30f}))});
  EXPECT_THAT(y[0].numbers(), ElementsAre(0, 0, 0));
}

TEST(DeformableConvolution, ShapesThatDoNotFitAreErrors) {
  const Given x = input(make<float>({1, 2, 1, 1}, {1, 2}));
  const auto error = [&](const Tensor& kernel, const Tensor& offsets, int64_t offset_groups) {
    DeformableConvolution op = plain();
    op.offset_groups = offset_groups;
    return infer_error(op, {x, constant(kernel), input(offsets)});
  };
  const Tensor kernel = make<float>({1, 2, 1, 1}, {1, 1}),
               still = make<float>({1, 2, 1, 1}, {0, 0});
  EXPECT_EQ(error(kernel, still, 1), "");
  EXPECT_THAT(error(make<float>({1, 1, 1, 1}, {1}), still, 1), HasSubstr("do not fit 2 channels"));
  EXPECT_THAT(error(kernel, still, 2), HasSubstr("expected offsets (input 2) of shape 1x4x1x1"));
  EXPECT_THAT(error(kernel, still, 3), HasSubstr("into 3 offset groups"));
  EXPECT_THAT(error(kernel, still, 0), HasSubstr("into 0 offset groups"));
}

}  // namespace
}  // namespace tenon
