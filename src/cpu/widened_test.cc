// Kernels of float32 on 16-bit floats against the reference.
#include "cpu/widened.h"

#include "backend/testing.h"
#include "ops/convolution.h"
#include "ops/elementwise.h"
#include "ops/matrix_multiply.h"
#include "ops/pooling.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/softmax.h"

namespace tenon::cpu {
namespace {

// What results that were rounded once may differ by.
double widened_tolerance(DataType type) {
  return type == DataType::kHALF ? 1. / 1024 : 1. / 128;
}

void check_widened(const Op& op, const std::vector<TestInput>& inputs, const char* name,
                   Layout layout = Layout::kLinear) {
  for (const DataType type : {DataType::kHALF, DataType::kBF16}) {
    SCOPED_TRACE(fmt::format("{} {}", name_of(type), name));
    std::vector<TestInput> reduced;
    for (const TestInput& in : inputs) reduced.push_back(as_type(type, in));
    reduced[0].layout = layout;
    LayerTest test(op, reduced);
    ASSERT_EQ(test.offer(name), "");
    const Tensor actual = test.run();
    EXPECT_EQ(actual.type(), type);
    expect_close(actual, test.reference(), widened_tolerance(type));
    if (!test.kernel().packed.empty())
      expect_identical(test.run(*test.load(test.stored())), actual);
  }
}

TEST(WidenedTest, OwnLoops) {
  ElementWise sum;
  check_widened(sum, {data({2, 5, 700}), data({1, 5, 1}, 2)}, "pointwise_16bit");
  Softmax softmax;
  softmax.axes = 2;
  check_widened(softmax, {data({5, 40})}, "softmax_16bit");
  Reduce reduce;
  reduce.axes = 2;
  check_widened(reduce, {data({5, 40, 3})}, "reduce_16bit");
  Resize resize;
  resize.mode = nvinfer1::InterpolationMode::kLINEAR;
  resize.output_size = {1, 16, 7, 9};
  check_widened(resize, {data({1, 16, 3, 4})}, "resize_16bit", Layout::kBlocked16);
}

#ifdef TENON_ONEDNN
TEST(WidenedTest, Convolution) {
  for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked16}) {
    Convolution op;
    op.output_channels = 20;
    op.kernel = {3, 3};
    op.stride = {1, 1};
    op.dilation = {1, 1};
    op.pre_padding = op.post_padding = {1, 1};
    check_widened(op, {data({1, 16, 9, 8}), constant({20, 16, 3, 3}), constant({20}, 3)},
                  "onednn_convolution_16bit", layout);
  }
}

// The sum is written where the other operand was.
TEST(WidenedTest, ResidualInPlace) {
  Convolution op;
  op.output_channels = 16;
  op.kernel = {1, 1};
  op.stride = {1, 1};
  op.dilation = {1, 1};
  op.pre_padding = op.post_padding = {0, 0};
  op.epilogue.inputs = 2;
  op.epilogue.steps = {{PointwiseStep::Family::kElementWise, 0, 0, 1}};
  check_widened(
      op,
      {data({1, 16, 9, 8}), constant({16, 16, 1, 1}), constant({16}, 3), data({1, 16, 9, 8}, 5)},
      "onednn_convolution_16bit");
}

TEST(WidenedTest, MatrixMultiply) {
  check_widened(MatrixMultiply(), {data({7, 33}), constant({33, 65})},
                "onednn_matrix_multiply_16bit");
  check_widened(MatrixMultiply(), {data({2, 7, 33}), data({2, 33, 65}, 2)},
                "onednn_matrix_multiply_16bit");
}
#endif

TEST(WidenedTest, OtherTypesAreRefused) {
  ElementWise sum;
  LayerTest test(sum, {data({4}), data({4})});
  EXPECT_EQ(test.offer("pointwise_16bit"), "there is no input of 16-bit floats");
}

}  // namespace
}  // namespace tenon::cpu
