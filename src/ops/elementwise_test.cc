#include "ops/elementwise.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(ElementWise, AgreesWithOnnx) {
  run_cases("elementwise");
}

TEST(ElementWise, IntegerArithmeticNeverTraps) {
  ElementWise op;
  op.operation = nvinfer1::ElementWiseOperation::kDIV;
  const Given low = input(make<int32_t>({2}, {INT32_MIN, 5}));
  EXPECT_THAT(run(op, {low, input(make<int32_t>({2}, {-1, 0}))})[0].integers(),
              ::testing::ElementsAre(INT32_MIN, 0));
  op.operation = nvinfer1::ElementWiseOperation::kPOW;
  EXPECT_THAT(run(op, {input(make<int64_t>({4}, {2, -1, 1, 0})),
                       input(make<int64_t>({4}, {-1, -3, -5, -1}))})[0]
                  .integers(),
              ::testing::ElementsAre(0, -1, 1, 0));
}

// An overflow in values that are no shapes must not fail the build.
TEST(ElementWise, OverflowingContentIsUnknown) {
  EXPECT_EQ(content(ElementWise(), {make<int64_t>({1}, {INT64_MAX}), make<int64_t>({1}, {1})}),
            std::nullopt);
}

TEST(ElementWise, MistakesAreNamed) {
  using ::testing::HasSubstr;
  const Given two = input(make<float>({2}, {1, 2})), three = input(make<float>({3}, {1, 2, 3}));
  EXPECT_THAT(infer_error(ElementWise(), {two, three}),
              HasSubstr("shapes 2 and 3, axis 0: extents 2 and 3 do not broadcast"));
  EXPECT_THAT(infer_error(ElementWise(), {two, input(make<float>({1, 2}, {1, 2}))}),
              HasSubstr("equal rank"));
  EXPECT_THAT(infer_error(ElementWise(), {two, input(make<int32_t>({2}, {1, 2}))}),
              HasSubstr("float32, found int32"));
  ElementWise logical;
  logical.operation = nvinfer1::ElementWiseOperation::kAND;
  EXPECT_THAT(infer_error(logical, {two, two}), HasSubstr("expected bool operands"));
}

// Extents that are known only when shapes are set may turn out not to fit.
TEST(ElementWise, TheKernelChecksExtents) {
  const Tensor a = make<float>({2}, {1, 2}), b = make<float>({3}, {1, 2, 3});
  Tensor out(DataType::kFLOAT, {3});
  const TensorView inputs[] = {view_of(a), view_of(b)}, outputs[] = {view_of(out)};
  EXPECT_THROW(ElementWise().reference({inputs, outputs}), Error);
}

}  // namespace
}  // namespace tenon
