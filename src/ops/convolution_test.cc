#include "ops/convolution.h"

#include "base/parallel.h"
#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Convolution, AgreesWithOnnx) {
  run_cases("convolution");
}

Convolution three_by_three() {
  Convolution op;
  op.output_channels = 4;
  op.kernel = op.stride = op.dilation = {3, 3};
  op.stride = op.dilation = {1, 1};
  op.pre_padding = op.post_padding = {0, 0};
  return op;
}

Given zeros(const Shape& shape) {
  Tensor t(DataType::kFLOAT, shape);
  std::fill_n(t.mutable_data<float>(), t.count(), 0.0f);
  return input(t);
}

TEST(Convolution, MistakesAreNamed) {
  const std::vector<std::optional<Given>> good{zeros({1, 3, 8, 8}), zeros({4, 3, 3, 3})};
  Convolution op = three_by_three();
  EXPECT_EQ(infer_error(op, good), "");
  using ::testing::HasSubstr;
  EXPECT_THAT(infer_error(op, {zeros({1, 3, 8}), zeros({4, 3, 3})}), HasSubstr("rank 4 or 5"));
  EXPECT_THAT(infer_error(op, {zeros({1, 3, 8, 8}), zeros({4, 2, 3, 3})}),
              HasSubstr("expected 108 elements in the kernel (input 1), found 72"));
  EXPECT_THAT(infer_error(op, {zeros({1, 3, 2, 8}), zeros({4, 3, 3, 3})}),
              HasSubstr("spatial axis 0: the window reaches over 3 elements, but the padded input "
                        "has only 2"));
  EXPECT_THAT(infer_error(op, {zeros({1, 3, 8, 8})}), HasSubstr("input 1 is missing"));
  op.stride = {0, 1};
  EXPECT_THAT(infer_error(op, good), HasSubstr("expected a stride of 1"));
  op = three_by_three();
  op.groups = 3;
  EXPECT_THAT(infer_error(op, good), HasSubstr("4 output channels and 3 groups"));
}

TEST(Convolution, ResultsDoNotDependOnTheNumberOfThreads) {
  Convolution op = three_by_three();
  Tensor x(DataType::kFLOAT, {2, 3, 17, 19}), k(DataType::kFLOAT, {4, 3, 3, 3});
  for (int64_t i = 0; i < x.count(); ++i) x.mutable_data<float>()[i] = 1.0f / float(i + 1);
  for (int64_t i = 0; i < k.count(); ++i) k.mutable_data<float>()[i] = 1.0f / float(3 * i + 2);
  set_thread_count(1);
  const auto one = run(op, {input(x), constant(k)})[0].numbers();
  set_thread_count(4);
  const auto four = run(op, {input(x), constant(k)})[0].numbers();
  set_thread_count(0);
  EXPECT_EQ(one, four);
}

}  // namespace
}  // namespace tenon
