// Layers of detectors, and layers that normalise: attributes come back, and networks run.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

TEST(DetectionLayers, Nms) {
  Session s;
  ITensor& boxes = s.input("boxes", {2, 9, 3, 4});
  ITensor& scores = s.input("scores", {2, 9, 3});
  ITensor& max_boxes = s.input("max_boxes", {}, DataType::kINT32);
  INMSLayer* l = s.network->addNMS(boxes, scores, max_boxes);
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getType(), LayerType::kNMS);
  EXPECT_EQ(l->getIndicesType(), DataType::kINT32);
  EXPECT_EQ(l->getNbOutputs(), 2);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{-1, 3}));
  EXPECT_EQ(list(l->getOutput(1)->getDimensions()), (List{}));
  EXPECT_EQ(l->getOutput(1)->getType(), DataType::kINT32);
  l->setBoundingBoxFormat(BoundingBoxFormat::kCENTER_SIZES);
  l->setTopKBoxLimit(7);
  EXPECT_TRUE(l->setIndicesType(DataType::kINT64));
  EXPECT_EQ(l->getBoundingBoxFormat(), BoundingBoxFormat::kCENTER_SIZES);
  EXPECT_EQ(l->getTopKBoxLimit(), 7);
  EXPECT_EQ(l->getIndicesType(), DataType::kINT64);
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kINT64);
  l->setInput(3, s.input("overlap", {}));
  l->setInput(4, s.input("score", {}));
  EXPECT_EQ(l->getNbInputs(), 5);
  EXPECT_EQ(s.network->addNMS(boxes, scores, max_boxes, DataType::kINT64)->getIndicesType(),
            DataType::kINT64);
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
  EXPECT_FALSE(l->setIndicesType(DataType::kFLOAT));
  l->setTopKBoxLimit(0);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("a limit of 0 boxes is not possible"));
  EXPECT_EQ(s.network->addNMS(boxes, scores, max_boxes, DataType::kHALF), nullptr);
  EXPECT_EQ(l->getTopKBoxLimit(), 7);
}

TEST(DetectionLayers, GridSample) {
  Session s;
  ITensor& x = s.input("x", {1, 1, 2, 2});
  IGridSampleLayer* l = s.network->addGridSample(x, s.input("grid", {1, 1, 3, 2}));
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getInterpolationMode(), InterpolationMode::kLINEAR);
  EXPECT_FALSE(l->getAlignCorners());
  EXPECT_EQ(l->getSampleMode(), SampleMode::kFILL);
  l->setInterpolationMode(InterpolationMode::kNEAREST);
  l->setAlignCorners(true);
  EXPECT_TRUE(l->setSampleMode(SampleMode::kREFLECT));
  EXPECT_EQ(l->getInterpolationMode(), InterpolationMode::kNEAREST);
  EXPECT_TRUE(l->getAlignCorners());
  EXPECT_EQ(l->getSampleMode(), SampleMode::kREFLECT);
  EXPECT_FALSE(l->setSampleMode(SampleMode::kWRAP));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("kFILL, kCLAMP or kREFLECT"));
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{1, 1, 1, 3}));
  // The upper right element, the centre, the lower left element.
  l->setInterpolationMode(InterpolationMode::kLINEAR);
  EXPECT_THAT(run_floats(s, *l->getOutput(0), {{1, 2, 3, 4}, {1, -1, 0, 0, -1, 1}}, 3),
              ElementsAre(2, 2.5f, 3));
}

TEST(NormalizationLayers, Normalization) {
  Session s;
  ITensor& x = s.input("x", {1, 4, 2});
  ITensor &scale = constant(s, {1, 4, 1}, {1, 2, 3, 4}), &bias = constant(s, {1, 1, 1}, {0.5f});
  INormalizationLayer* l = s.network->addNormalization(x, scale, bias, 4);
  ASSERT_NE(l, nullptr);
  EXPECT_FALSE(l->isV2());
  EXPECT_EQ(l->getEpsilon(), 1e-5f);
  EXPECT_EQ(l->getNbGroups(), 1);
  l->setEpsilon(0.75f);
  l->setComputePrecision(DataType::kHALF);
  EXPECT_EQ(l->getEpsilon(), 0.75f);
  EXPECT_EQ(l->getAxes(), 4u);
  EXPECT_EQ(l->getComputePrecision(), DataType::kHALF);
  l->setEpsilon(-1);
  l->setNbGroups(0);
  l->setComputePrecision(DataType::kINT32);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("0 groups are not possible"));
  EXPECT_EQ(l->getEpsilon(), 0.75f);
  // Each row has mean 1 and variance 1, or the mean 3 and variance 0.25: times 1/sqrt(1.75), 1.
  const float inverse = 1 / std::sqrt(1.75f);
  EXPECT_THAT(
      run_floats(s, *l->getOutput(0), {{0, 2, 2.5f, 3.5f, 0, 2, 3, 3}}, 8),
      Pointwise(FloatNear(1e-6f), Floats{0.5f - inverse, 0.5f + inverse, -0.5f, 1.5f,
                                         0.5f - 3 * inverse, 0.5f + 3 * inverse, 0.5f, 0.5f}));
}

TEST(NormalizationLayers, NormalizationInGroups) {
  Session s;
  ITensor& x = s.input("x", {1, 4, 2});
  ITensor &scale = constant(s, {1, 4, 1}, {1, 2, 3, 4}),
          &bias = constant(s, {1, 4, 1}, {0, 0, 0, 1});
  INormalizationLayer* l = s.network->addNormalizationV2(x, scale, bias, 2);
  EXPECT_TRUE(l->isV2());
  l->setAxes(4);
  l->setNbGroups(2);
  l->setEpsilon(0);
  EXPECT_EQ(l->getAxes(), 4u);
  EXPECT_EQ(l->getNbGroups(), 2);
  EXPECT_THAT(run_floats(s, *l->getOutput(0), {{0, 2, 2, 0, 1, 1, 5, 5}}, 8),
              Pointwise(FloatNear(1e-6f), Floats{-1, 1, 2, -2, -3, -3, 5, 5}));
}

TEST(NormalizationLayers, Lrn) {
  Session s;
  ILRNLayer* l = s.network->addLRN(s.input("x", {1, 3, 1, 1}), 5, 1, 2, 3);
  ASSERT_NE(l, nullptr);
  l->setWindowSize(3);
  l->setAlpha(6);
  l->setBeta(1);
  l->setK(2);
  EXPECT_EQ(l->getWindowSize(), 3);
  EXPECT_EQ(l->getAlpha(), 6);
  EXPECT_EQ(l->getBeta(), 1);
  EXPECT_EQ(l->getK(), 2);
  l->setWindowSize(4);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("the window 4 is not an odd number"));
  EXPECT_THAT(run_floats(s, *l->getOutput(0), {{1, 2, 3}}, 3),
              Pointwise(FloatNear(1e-6f), Floats{1 / 12.f, 2 / 30.f, 3 / 28.f}));
}

TEST(NormalizationLayers, ParametricRelu) {
  Session s;
  ITensor& slope = constant(s, {1, 2, 1}, {0.5f, 2});
  IParametricReLULayer* l = s.network->addParametricReLU(s.input("x", {1, 2, 2}), slope);
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getNbInputs(), 2);
  EXPECT_THAT(run_floats(s, *l->getOutput(0), {{-1, 1, -2, 3}}, 4), ElementsAre(-0.5f, 1, -4, 3));
}

TEST(NormalizationLayers, RaggedSoftmax) {
  Session s;
  const std::vector<int32_t> lengths{2, 0};
  IConstantLayer* bounds =
      s.network->addConstant(dims({2, 1}), Weights{DataType::kINT32, lengths.data(), 2});
  IRaggedSoftMaxLayer* l = s.network->addRaggedSoftMax(s.input("x", {2, 3}), *bounds->getOutput(0));
  ASSERT_NE(l, nullptr);
  EXPECT_THAT(run_floats(s, *l->getOutput(0), {{4, 4, 9, 1, 2, 3}}, 6),
              ElementsAre(0.5f, 0.5f, 0, 0, 0, 0));
}

}  // namespace
}  // namespace tenon::testing
