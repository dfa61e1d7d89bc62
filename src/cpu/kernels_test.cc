// Pooling, matrix products, softmax, reorders, concatenation and reduction against the reference.
#include "backend/testing.h"
#include "cpu/cpu_target.h"
#include "ops/concatenation.h"
#include "ops/fully_connected.h"
#include "ops/matrix_multiply.h"
#include "ops/pooling.h"
#include "ops/reduce.h"
#include "ops/reorder.h"
#include "ops/softmax.h"

namespace tenon::cpu {
namespace {

using nvinfer1::MatrixOperation;
using nvinfer1::PaddingMode;
using nvinfer1::PoolingType;
using Family = PointwiseStep::Family;

constexpr Layout kKernelsLayouts[] = {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8,
                                      Layout::kBlocked16};

#ifdef TENON_ONEDNN
void check_kernels(LayerTest& test, const char* name, double relative = 2e-6) {
  ASSERT_EQ(test.offer(name), "");
  const Tensor actual = test.run();
  expect_close(actual, test.reference(), relative);
  if (test.kernel().packed.empty()) return;
  expect_identical(test.run(*test.load(test.stored())), actual);
}

TEST(OnednnPoolingTest, EqualsReference) {
  for (const bool excludes : {false, true})
    for (const auto mode : {PaddingMode::kEXPLICIT_ROUND_DOWN, PaddingMode::kEXPLICIT_ROUND_UP,
                            PaddingMode::kSAME_UPPER, PaddingMode::kSAME_LOWER})
      for (const Layout layout : kKernelsLayouts)
        for (const int64_t channels : {3, 16, 20}) {
          Pooling op;
          op.type = PoolingType::kAVERAGE;
          op.window = {3, 2};
          op.stride = {2, 2};
          op.pre_padding = {1, 0};
          op.post_padding = {1, 1};
          op.padding_mode = mode;
          op.average_excludes_padding = excludes;
          SCOPED_TRACE(fmt::format("{} {} {} {}", excludes, static_cast<int>(mode), name_of(layout),
                                   channels));
          LayerTest test(op, {data({2, channels, 9, 12}, 1, layout)});
          if (!excludes && mode == PaddingMode::kEXPLICIT_ROUND_UP) {
            EXPECT_NE(test.offer("onednn_pooling"), "");
            continue;
          }
          check_kernels(test, "onednn_pooling");
          test.set_inputs({data({1, channels, 6, 5}, 2)});
          expect_close(test.run(), test.reference());
        }
}

TEST(OnednnPoolingTest, AveragesOverAllTaps) {
  Pooling op;
  op.type = PoolingType::kAVERAGE;
  op.window = {3, 2};
  op.stride = {2, 2};
  op.pre_padding = op.post_padding = {1, 0};
  op.padding_mode = PaddingMode::kEXPLICIT_ROUND_UP;
  op.average_counts_all = true;
  EXPECT_NE(LayerTest(op, {data({1, 3, 8, 9}, 1)}).offer("onednn_pooling"), "");
  op.average_excludes_padding = false;
  LayerTest test(op, {data({1, 3, 8, 9}, 1)});
  check_kernels(test, "onednn_pooling");
}

TEST(OnednnPoolingTest, ThreeSpatialAxes) {
  Pooling op;
  op.type = PoolingType::kAVERAGE;
  op.window = {2, 3, 3};
  op.stride = {1, 2, 2};
  op.pre_padding = op.post_padding = {0, 1, 1};
  for (const Layout layout : kKernelsLayouts) {
    LayerTest test(op, {data({1, 18, 4, 7, 8}, 1, layout)});
    check_kernels(test, "onednn_pooling");
  }
}

struct ProductCase {
  Shape a, b;
  MatrixOperation operation_a, operation_b;
  Shape bias;  // rank 0: none
};

TEST(OnednnMatrixMultiplyTest, EqualsReference) {
  constexpr auto kNone = MatrixOperation::kNONE, kTranspose = MatrixOperation::kTRANSPOSE,
                 kVector = MatrixOperation::kVECTOR;
  const ProductCase cases[] = {
      {{7, 33}, {33, 65}, kNone, kNone, {1, 65}},
      {{33, 7}, {65, 33}, kTranspose, kTranspose, {7, 65}},
      {{2, 3, 5, 16}, {2, 3, 16, 9}, kNone, kNone, {}},
      {{2, 3, 5, 16}, {2, 3, 9, 16}, kNone, kTranspose, {}},
      {{2, 3, 5, 16}, {1, 1, 16, 9}, kNone, kNone, {1, 1, 1, 9}},
      {{4, 5, 16}, {1, 16, 9}, kNone, kNone, {1, 1, 9}},
      {{4, 5, 16}, {1, 16, 9}, kNone, kNone, {1, 5, 9}},
      {{4, 16, 5}, {1, 16, 9}, kTranspose, kNone, {}},
      {{1, 5, 16}, {4, 16, 9}, kNone, kNone, {}},
      {{16}, {16, 9}, kVector, kNone, {}},
      {{5, 16}, {16}, kNone, kVector, {}},
      {{16}, {16}, kVector, kVector, {}},
      {{1, 1}, {1, 1}, kNone, kNone, {}},
      {{0, 16}, {16, 9}, kNone, kNone, {}},
  };
  for (const ProductCase& c : cases)
    for (const bool is_constant : {false, true})
      for (const bool has_epilogue : {false, true}) {
        SCOPED_TRACE(
            fmt::format("{} by {}, constant {}, epilogue {}", c.a, c.b, is_constant, has_epilogue));
        MatrixMultiply op;
        op.operation_a = c.operation_a;
        op.operation_b = c.operation_b;
        if (has_epilogue) op.epilogue.steps = {{Family::kActivation, 0, 0, -1}};
        std::vector<TestInput> inputs = {data(c.a), data(c.b, 2)};
        inputs[1].is_constant = is_constant;
        if (c.bias.rank() > 0) inputs.push_back(constant(c.bias, 3));
        LayerTest test(op, inputs);
        check_kernels(test, "onednn_matrix_multiply");
      }
}

TEST(OnednnMatrixMultiplyTest, OperandsOfTheEpilogue) {
  for (const Shape& operand : {Shape{4, 5, 24}, Shape{1, 1, 24}, Shape{1, 1, 1}, Shape{4, 1, 1},
                               Shape{1, 5, 24}, Shape{1, 5, 1}})
    for (const int64_t batch : {1, 4}) {
      SCOPED_TRACE(fmt::format("{} batch {}", operand, batch));
      MatrixMultiply op;
      op.epilogue.inputs = 2;
      op.epilogue.steps = {{Family::kElementWise, 0, 0, 1}, {Family::kActivation, 0, 2, -1}};
      LayerTest test(op, {data({4, 5, 16}), constant({batch, 16, 24}), constant({1, 1, 24}, 5),
                          data(operand, 6)});
      check_kernels(test, "onednn_matrix_multiply");
    }
}

TEST(OnednnMatrixMultiplyTest, OtherShapesWithTheSameKernel) {
  MatrixMultiply op;
  LayerTest test(op, {data({8, 128}), constant({128, 96}), constant({1, 96}, 3)});
  ASSERT_EQ(test.offer("onednn_matrix_multiply"), "");
  for (const int64_t rows : {1, 3, 64, 200}) {
    test.set_inputs({data({rows, 128}, 4), constant({128, 96}), constant({1, 96}, 3)});
    expect_close(test.run(), test.reference());
  }
}

TEST(OnednnFullyConnectedTest, EqualsReference) {
  FullyConnected op;
  op.outputs = 10;
  LayerTest test(op, {data({3, 8, 4, 2}), constant({10, 64}), constant({10}, 3)});
  check_kernels(test, "onednn_fully_connected");
  LayerTest without_bias(op, {data({3, 8, 4, 2}), constant({10, 64})});
  check_kernels(without_bias, "onednn_fully_connected");
}

TEST(OnednnReorderTest, BetweenAllLayouts) {
  for (const Layout from : kKernelsLayouts)
    for (const Layout to : kKernelsLayouts)
      for (const Shape& shape : {Shape{2, 19, 5, 7}, Shape{1, 16, 3, 4, 5}, Shape{2, 3, 9}}) {
        if (from == to) continue;
        Reorder op;
        op.from = from;
        op.to = to;
        LayerTest test(op, {data(shape, 1, from)});
        ASSERT_EQ(test.offer("onednn_reorder"), "");
        expect_identical(test.run(), test.reference());
      }
}
#endif

TEST(ReorderTest, BetweenAllLayouts) {
  for (const Layout from : kKernelsLayouts)
    for (const Layout to : kKernelsLayouts)
      for (const Shape& shape :
           {Shape{2, 19, 5, 7}, Shape{1, 16, 3, 4, 5}, Shape{2, 3}, Shape{2, 40, 21, 19}}) {
        Reorder op;
        op.from = from;
        op.to = to;
        LayerTest test(op, {data(shape, 1, from)});
        ASSERT_EQ(test.offer("reorder"), "");
        expect_identical(test.run(), test.reference());
      }
}

TEST(SoftmaxTest, LastAxis) {
  for (const int64_t length : {1, 7, 16, 1000}) {
    Softmax op;
    op.axes = 1u << 1;
    LayerTest test(op, {data({5, length})});
    ASSERT_EQ(test.offer("softmax"), "");
    expect_close(test.run(), test.reference(), 1e-6);
  }
}

TEST(SoftmaxTest, AxesBeforeOthers) {
  for (const Shape& shape :
       {Shape{2, 16, 3, 700}, Shape{1, 1, 1, 300}, Shape{3, 5, 7, 1}, Shape{2, 0, 3, 4}})
    for (int axis = 0; axis < 4; ++axis) {
      Softmax op;
      op.axes = 1u << axis;
      LayerTest test(op, {data(shape)});
      ASSERT_EQ(test.offer("softmax"), "");
      expect_close(test.run(), test.reference(), 1e-6);
    }
}

TEST(SoftmaxTest, LargeNumbersDoNotOverflow) {
  Softmax op;
  op.axes = 1u << 1;
  for (const Shape& shape : {Shape{3, 40}, Shape{3, 40, 5}}) {
    LayerTest test(op, {{random_tensor(shape, 1, -3e38f, 3e38f), false, Layout::kLinear}});
    ASSERT_EQ(test.offer("softmax"), "");
    expect_close(test.run(), test.reference());
  }
}

TEST(ConcatenationTest, EveryAxisAndLayout) {
  for (int axis = 0; axis < 4; ++axis)
    for (const Layout layout : kKernelsLayouts)
      for (const int64_t channels : {16, 5}) {
        SCOPED_TRACE(fmt::format("axis {} {} {}", axis, name_of(layout), channels));
        Concatenation op;
        op.axis = axis;
        Shape a = {2, channels, 3, 4}, b = a, c = a;
        b[axis] *= 2;
        c[axis] = 0;
        LayerTest test(op, {data(a, 1, layout), data(b, 2, layout), data(c, 3, layout)});
        ASSERT_EQ(test.offer("concatenation"), "");
        const bool whole = axis != 1 || channels == 16 || channel_block(layout) == 1;
        EXPECT_EQ(test.kernel().output_layouts[0], whole ? layout : Layout::kLinear);
        expect_identical(test.run(), test.reference());
      }
}

// Pieces of 4, 8, 12 and no bytes in rows that many tasks share.
TEST(ConcatenationTest, ColumnsSideBySide) {
  Concatenation op;
  op.axis = 1;
  for (const int64_t rows : {1, 9, 20011}) {
    LayerTest test(
        op, {data({rows, 1}, 1), data({rows, 2}, 2), data({rows, 3}, 3), data({rows, 0}, 4)});
    ASSERT_EQ(test.offer("concatenation"), "");
    expect_identical(test.run(), test.reference());
  }
}

// Of three slices the second one lies in the output already: it is left there.
TEST(ConcatenationTest, WhatIsInPlaceStays) {
  Concatenation op;
  const TensorSpec pieces[] = {{DataType::kFLOAT, Layout::kLinear, {1, 2}},
                               {DataType::kFLOAT, Layout::kLinear, {1, 3}},
                               {DataType::kFLOAT, Layout::kLinear, {1, 1}}};
  op.axis = 1;
  const TensorSpec whole{DataType::kFLOAT, Layout::kLinear, {1, 6}};
  const std::vector<const Tensor*> constants(3, nullptr);
  for (const Candidate& candidate : cpu_target().candidates(op)) {
    SCOPED_TRACE(candidate.name);
    Offer offer = candidate.offer({op, pieces, {&whole, 1}, constants});
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(offer));
    const auto& kernel = std::get<std::unique_ptr<Kernel>>(offer);
    float first[] = {1, 2}, last[] = {6}, out[] = {-1, -1, 3, 4, 5, -1};
    const void* const inputs[] = {first, out + 2, last};
    void* const outputs[] = {out};
    kernel->prepare(pieces, {&whole, 1})->run({inputs, outputs, nullptr, nullptr, nullptr, {}});
    EXPECT_THAT(out, ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
  }
}

TEST(SpatialMeanTest, EqualsReference) {
  for (const Layout layout : kKernelsLayouts)
    for (const int64_t channels : {19, 32})
      for (const bool keep : {false, true}) {
        Reduce op;
        op.operation = nvinfer1::ReduceOperation::kAVG;
        op.axes = 0b1100;
        op.keep_dimensions = keep;
        LayerTest test(op, {data({3, channels, 7, 9}, 1, layout)});
        ASSERT_EQ(test.offer("spatial_mean"), "");
        expect_close(test.run(), test.reference(), 1e-6);
      }
}

TEST(SpatialMeanTest, OtherReductionsAreRefused) {
  Reduce op;
  op.operation = nvinfer1::ReduceOperation::kAVG;
  op.axes = 0b1000;
  LayerTest test(op, {data({3, 4, 7, 9})});
  EXPECT_EQ(test.offer("spatial_mean"), "only all spatial axes are supported");
}

}  // namespace
}  // namespace tenon::cpu
