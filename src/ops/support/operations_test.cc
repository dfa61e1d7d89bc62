#include <gtest/gtest.h>

#include "ops/attention.h"
#include "ops/convolution.h"
#include "ops/deconvolution.h"
#include "ops/einsum.h"
#include "ops/fully_connected.h"
#include "ops/matrix_multiply.h"
#include "ops/normalization.h"
#include "ops/pointwise.h"
#include "ops/pooling.h"
#include "ops/quantized_matrix_multiply.h"
#include "ops/recurrent.h"
#include "ops/reduce.h"
#include "ops/shuffle.h"
#include "ops/softmax.h"

namespace tenon {
namespace {

double count(const Op& op, const std::vector<Shape>& inputs, const Shape& output) {
  return op.operations(inputs, std::vector<Shape>{output});
}

// x + 1, then its sigmoid.
PointwiseProgram two_steps() {
  PointwiseProgram program;
  program.constants = {1};
  program.steps = {{PointwiseStep::Family::kElementWise, 0, 0, 1}, {}};
  return program;
}

TEST(Operations, AConvolutionHasAMultiplyAddForEachTapOfEachResult) {
  Convolution op;
  op.kernel = {7, 7};
  // ResNet's first layer: 118,013,952 multiply-adds.
  EXPECT_EQ(count(op, {{1, 3, 224, 224}, {64, 3, 7, 7}}, {1, 64, 112, 112}), 2 * 118'013'952.0);
  op.kernel = {3, 3};
  op.groups = 32;  // depthwise
  EXPECT_EQ(count(op, {{1, 32, 8, 8}, {32, 1, 3, 3}}, {1, 32, 8, 8}), 2 * 9 * 32 * 64.0);
}

TEST(Operations, ADeconvolutionHasOneForEachTapOfEachInput) {
  Deconvolution op;
  op.kernel = {2, 2};
  op.output_channels = 16;
  EXPECT_EQ(count(op, {{1, 32, 5, 5}, {32, 16, 2, 2}}, {1, 16, 10, 10}), 2 * 32 * 25 * 16 * 4.0);
}

TEST(Operations, AMatrixProductHasAMultiplyAddForEachPair) {
  MatrixMultiply op;
  EXPECT_EQ(count(op, {{12, 128, 64}, {12, 64, 96}}, {12, 128, 96}), 2 * 12 * 128 * 96 * 64.0);
  op.operation_a = nvinfer1::MatrixOperation::kTRANSPOSE;
  EXPECT_EQ(count(op, {{64, 128}, {64, 96}}, {128, 96}), 2 * 128 * 96 * 64.0);
  op.operation_a = nvinfer1::MatrixOperation::kVECTOR;
  EXPECT_EQ(count(op, {{64}, {64, 96}}, {96}), 2 * 96 * 64.0);
  EXPECT_EQ(count(QuantizedMatrixMultiply(), {{5, 7}, {7, 3}}, {5, 3}), 2 * 5 * 3 * 7.0);
  EXPECT_EQ(count(FullyConnected(), {{2, 512, 7, 7}, {10, 25088}}, {2, 10, 1, 1}),
            2 * 2 * 10 * 25088.0);
}

TEST(Operations, EpiloguesCountByElement) {
  Convolution convolution;
  convolution.kernel = {1, 1};
  MatrixMultiply product;
  convolution.epilogue = product.epilogue = two_steps();
  EXPECT_EQ(count(convolution, {{1, 8, 4, 4}, {2, 8, 1, 1}}, {1, 2, 4, 4}), 32 * (2 * 8 + 2.0));
  EXPECT_EQ(count(product, {{4, 8}, {8, 2}}, {4, 2}), 8 * (2 * 8 + 2.0));
  Pointwise alone;
  alone.program = two_steps();
  EXPECT_EQ(count(alone, {{3, 5}}, {3, 5}), 2 * 15.0);
}

TEST(Operations, AttentionHasTwoProductsAndASoftmax) {
  const std::vector<Shape> inputs{{2, 12, 128, 64}, {2, 12, 100, 64}, {2, 12, 100, 32}};
  Attention op;
  constexpr double kScores = 2 * 12 * 128 * 100;
  EXPECT_EQ(count(op, inputs, {2, 12, 128, 32}), kScores * (2 * 64 + 2 * 32 + 5));
  // The same vectors within tensors of other shapes.
  for (size_t i = 0; i < 3; ++i) op.vectors[i].extents = inputs[i];
  EXPECT_EQ(count(op, {{2, 128, 768}, {2, 100, 768}, {2, 100, 384}}, {2, 128, 384}),
            kScores * (2 * 64 + 2 * 32 + 5));
}

TEST(Operations, AnEinsumMultipliesOverAllItsAxes) {
  Einsum op;
  op.equation = "bij,bjk->bik";
  EXPECT_EQ(count(op, {{2, 3, 4}, {2, 4, 5}}, {2, 3, 5}), 2 * (2 * 3 * 4 * 5.0));
}

TEST(Operations, ARecurrentLayerHasTheProductsOfItsGates) {
  Recurrent op;  // an LSTM: four gates
  op.hidden_size = 6;
  EXPECT_EQ(count(op, {{10, 2, 3}, {1, 24, 3}, {1, 24, 6}}, {10, 1, 2, 6}),
            2 * 10 * 2 * 24 * (3 + 6.0));
}

TEST(Operations, OtherArithmeticCountsByElement) {
  Pooling pooling;
  pooling.window = {3, 3};
  EXPECT_EQ(count(pooling, {{1, 2, 9, 9}}, {1, 2, 3, 3}), 9 * 18.0);
  EXPECT_EQ(count(Softmax(), {{4, 10}}, {4, 10}), 5 * 40.0);
  EXPECT_EQ(count(Normalization(), {{4, 10}, {1, 10}, {1, 10}}, {4, 10}), 7 * 40.0);
  EXPECT_EQ(count(Reduce(), {{4, 10}}, {4}), 40.0);
}

TEST(Operations, WhatMovesDataHasNone) {
  EXPECT_EQ(count(Shuffle(), {{4, 10}}, {10, 4}), 0);
}

}  // namespace
}  // namespace tenon
