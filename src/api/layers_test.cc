// Attributes of each layer kind come back as they were set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/extensions.h>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Layer> void check_convolution(Session& s, Layer* layer) {
  layer->setNbOutputMaps(6);
  layer->setNbGroups(2);
  layer->setKernelSizeNd(dims({5, 3}));
  layer->setStrideNd(dims({2, 1}));
  layer->setDilationNd(dims({1, 2}));
  layer->setPrePadding(dims({1, 2}));
  layer->setPostPadding(dims({3, 4}));
  layer->setPaddingMode(PaddingMode::kSAME_UPPER);
  EXPECT_EQ(layer->getNbOutputMaps(), 6);
  EXPECT_EQ(layer->getNbGroups(), 2);
  EXPECT_EQ(list(layer->getKernelSizeNd()), (List{5, 3}));
  EXPECT_EQ(list(layer->getStrideNd()), (List{2, 1}));
  EXPECT_EQ(list(layer->getDilationNd()), (List{1, 2}));
  EXPECT_EQ(list(layer->getPrePadding()), (List{1, 2}));
  EXPECT_EQ(list(layer->getPostPadding()), (List{3, 4}));
  EXPECT_EQ(layer->getPaddingMode(), PaddingMode::kSAME_UPPER);
  layer->setPaddingNd(dims({7, 8}));
  EXPECT_EQ(list(layer->getPaddingNd()), (List{7, 8}));
  EXPECT_EQ(list(layer->getPostPadding()), (List{7, 8}));
  layer->setKernelWeights(weights({1, 2}));
  layer->setBiasWeights(weights({3}));
  EXPECT_EQ(layer->getKernelWeights().count, 2);
  EXPECT_EQ(static_cast<const float*>(layer->getBiasWeights().values)[0], 3);
  EXPECT_EQ(layer->getNbInputs(), 1);
  layer->setBiasWeights(kNone);
  EXPECT_EQ(layer->getBiasWeights().count, 0);
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());

  layer->setStrideNd(dims({0, 1}));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("setStrideNd"));
  EXPECT_EQ(list(layer->getStrideNd()), (List{2, 1}));
  layer->setNbGroups(0);
  layer->setPaddingMode(static_cast<PaddingMode>(9));
  EXPECT_EQ(layer->getPaddingMode(), PaddingMode::kSAME_UPPER);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("0 groups are not possible"));
}

TEST(Layers, Convolution) {
  Session s;
  check_convolution(
      s, s.network->addConvolutionNd(s.input("x", {1, 4, 9, 9}), 1, dims({1, 1}), kNone, kNone));
  check_convolution(
      s, s.network->addDeconvolutionNd(s.input("y", {1, 4, 9, 9}), 1, dims({1, 1}), kNone, kNone));
}

TEST(Layers, AKernelMayBeATensor) {
  Session s;
  IConvolutionLayer* layer =
      s.network->addConvolutionNd(s.input("x", {1, 2, 5, 5}), 3, dims({1, 1}), kNone, kNone);
  const std::vector<float> values(6, 1);
  IConstantLayer* kernel = s.network->addConstant(dims({3, 2, 1, 1}), weights(values));
  layer->setInput(1, *kernel->getOutput(0));
  EXPECT_EQ(layer->getNbInputs(), 2);
  EXPECT_EQ(layer->getInput(1), kernel->getOutput(0));
  EXPECT_EQ(list(layer->getOutput(0)->getDimensions()), (List{1, 3, 5, 5}));
  layer->setInput(3, *kernel->getOutput(0));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("has no input 3"));
}

TEST(Layers, Pooling) {
  Session s;
  IPoolingLayer* l =
      s.network->addPoolingNd(s.input("x", {1, 4, 9, 9}), PoolingType::kMAX, dims({2, 2}));
  EXPECT_EQ(list(l->getStrideNd()), (List{1, 1}));
  EXPECT_TRUE(l->getAverageCountExcludesPadding());
  l->setPoolingType(PoolingType::kMAX_AVERAGE_BLEND);
  l->setBlendFactor(0.25f);
  l->setAverageCountExcludesPadding(false);
  l->setWindowSizeNd(dims({3, 2}));
  l->setPaddingNd(dims({1, 0}));
  EXPECT_EQ(l->getPoolingType(), PoolingType::kMAX_AVERAGE_BLEND);
  EXPECT_EQ(l->getBlendFactor(), 0.25f);
  EXPECT_FALSE(l->getAverageCountExcludesPadding());
  EXPECT_EQ(list(l->getWindowSizeNd()), (List{3, 2}));
  EXPECT_EQ(list(l->getPaddingNd()), (List{1, 0}));
}

TEST(Layers, Pointwise) {
  Session s;
  ITensor& x = s.input("x", {1, 4});
  IActivationLayer* a = s.network->addActivation(x, ActivationType::kCLIP);
  a->setAlpha(-1);
  a->setBeta(6);
  EXPECT_EQ(a->getActivationType(), ActivationType::kCLIP);
  EXPECT_EQ(a->getAlpha(), -1);
  EXPECT_EQ(a->getBeta(), 6);
  a->setActivationType(ActivationType::kELU);
  EXPECT_EQ(a->getActivationType(), ActivationType::kELU);
  IElementWiseLayer* e = s.network->addElementWise(x, x, ElementWiseOperation::kMAX);
  e->setOperation(ElementWiseOperation::kDIV);
  EXPECT_EQ(e->getOperation(), ElementWiseOperation::kDIV);
  EXPECT_EQ(e->getNbInputs(), 2);
  IUnaryLayer* u = s.network->addUnary(x, UnaryOperation::kEXP);
  u->setOperation(UnaryOperation::kERF);
  EXPECT_EQ(u->getOperation(), UnaryOperation::kERF);
  ICastLayer* c = s.network->addCast(x, DataType::kINT32);
  EXPECT_EQ(c->getOutput(0)->getType(), DataType::kINT32);
  c->setToType(DataType::kHALF);
  EXPECT_EQ(c->getToType(), DataType::kHALF);
  EXPECT_EQ(c->getOutput(0)->getType(), DataType::kHALF);
  IScaleLayer* scale = s.network->addScaleNd(x, ScaleMode::kUNIFORM, kNone, kNone, kNone, 1);
  scale->setMode(ScaleMode::kCHANNEL);
  scale->setChannelAxis(0);
  scale->setScale(weights({2}));
  scale->setPower(weights({3}));
  EXPECT_EQ(scale->getMode(), ScaleMode::kCHANNEL);
  EXPECT_EQ(scale->getChannelAxis(), 0);
  EXPECT_EQ(static_cast<const float*>(scale->getScale().values)[0], 2);
  EXPECT_EQ(static_cast<const float*>(scale->getPower().values)[0], 3);
  ITensor& b = s.input("b", {1, 4}, DataType::kBOOL);
  EXPECT_EQ(s.network->addSelect(b, x, x)->getNbInputs(), 3);
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
}

TEST(Layers, ReduceAndProducts) {
  Session s;
  ITensor& x = s.input("x", {2, 3, 4, 5});
  ISoftMaxLayer* softmax = s.network->addSoftMax(x);
  EXPECT_EQ(softmax->getAxes(), 1u << 1);  // three axes from the end, as in TensorRT
  softmax->setAxes(1u << 3);
  EXPECT_EQ(softmax->getAxes(), 8u);
  IReduceLayer* r = s.network->addReduce(x, ReduceOperation::kSUM, 4, false);
  EXPECT_EQ(list(r->getOutput(0)->getDimensions()), (List{2, 3, 5}));
  r->setOperation(ReduceOperation::kAVG);
  r->setReduceAxes(3);
  r->setKeepDimensions(true);
  EXPECT_EQ(r->getOperation(), ReduceOperation::kAVG);
  EXPECT_EQ(r->getReduceAxes(), 3u);
  EXPECT_TRUE(r->getKeepDimensions());
  EXPECT_EQ(list(r->getOutput(0)->getDimensions()), (List{1, 1, 4, 5}));
  IMatrixMultiplyLayer* m =
      s.network->addMatrixMultiply(x, MatrixOperation::kNONE, x, MatrixOperation::kTRANSPOSE);
  EXPECT_EQ(list(m->getOutput(0)->getDimensions()), (List{2, 3, 4, 4}));
  m->setOperation(0, MatrixOperation::kTRANSPOSE);
  m->setOperation(1, MatrixOperation::kNONE);
  EXPECT_EQ(m->getOperation(0), MatrixOperation::kTRANSPOSE);
  EXPECT_EQ(list(m->getOutput(0)->getDimensions()), (List{2, 3, 5, 5}));
  m->setOperation(2, MatrixOperation::kNONE);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("no operand 2"));
}

TEST(Layers, FullyConnectedOf8x) {
  Session s;
  ITensor& x = s.input("x", {2, 3, 4, 5});
  const std::vector<float> kernel(7 * 60, 1), bias(7, 1);
  IFullyConnectedLayer* l = s.network->addFullyConnected(x, 7, weights(kernel), weights(bias));
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{2, 7, 1, 1}));
  EXPECT_EQ(l->getNbOutputChannels(), 7);
  EXPECT_EQ(l->getKernelWeights().count, 420);
  l->setBiasWeights(kNone);
  EXPECT_EQ(l->getBiasWeights().count, 0);
  EXPECT_EQ(l->getKernelWeights().count, 420);
  EXPECT_EQ(s.network->getLayer(0), l);
  EXPECT_FALSE(tenonGetFullyConnected(s.network->addIdentity(x), nullptr, nullptr, nullptr));
  EXPECT_EQ(s.network->addFullyConnected(x, 0, kNone, kNone), nullptr);
}

TEST(Layers, Shuffle) {
  Session s;
  IShuffleLayer* l = s.network->addShuffle(s.input("x", {2, 3, 4}));
  EXPECT_EQ(l->getReshapeDimensions().nbDims, -1);
  l->setSecondTranspose({{1, 0}});  // before the rank it applies to is known
  l->setFirstTranspose({{2, 0, 1}});
  l->setReshapeDimensions(dims({0, 6}));
  EXPECT_EQ(list(l->getReshapeDimensions()), (List{0, 6}));
  EXPECT_EQ(l->getFirstTranspose().order[0], 2);
  EXPECT_EQ(l->getSecondTranspose().order[0], 1);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{6, 4}));
  l->setZeroIsPlaceholder(false);
  EXPECT_FALSE(l->getZeroIsPlaceholder());
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
  l->setFirstTranspose({{0, 0, 1}});
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("not a permutation"));
  l->setReshapeDimensions(dims({-1, -1}));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("more than once"));
}

TEST(Layers, Slice) {
  Session s;
  ITensor& x = s.input("x", {4, 6});
  ISliceLayer* l = s.network->addSlice(x, dims({1, 2}), dims({2, 2}), dims({1, 2}));
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{2, 2}));
  l->setSize(dims({3, 1}));
  l->setStart(dims({0, 0}));
  l->setStride(dims({1, 1}));
  l->setMode(SampleMode::kCLAMP);
  EXPECT_EQ(list(l->getSize()), (List{3, 1}));
  EXPECT_EQ(list(l->getStart()), (List{0, 0}));
  EXPECT_EQ(list(l->getStride()), (List{1, 1}));
  EXPECT_EQ(l->getMode(), SampleMode::kCLAMP);
  ITensor& size = s.input("size", {2}, DataType::kINT32);
  l->setInput(2, size);
  EXPECT_EQ(l->getSize().nbDims, -1);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{-1, -1}));
  l->setSize(dims({1, 1}));  // takes the tensor's place again
  EXPECT_EQ(l->getInput(2), nullptr);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{1, 1}));
}

TEST(Layers, ConcatenationGatherShapeConstant) {
  Session s;
  ITensor& x = s.input("x", {2, 3});
  ITensor* both[] = {&x, &x};
  IConcatenationLayer* c = s.network->addConcatenation(both, 2);
  c->setAxis(1);
  EXPECT_EQ(c->getAxis(), 1);
  EXPECT_EQ(list(c->getOutput(0)->getDimensions()), (List{2, 6}));
  ITensor& indices = s.input("i", {5}, DataType::kINT32);
  IGatherLayer* g = s.network->addGather(x, indices, 1);
  EXPECT_EQ(list(g->getOutput(0)->getDimensions()), (List{2, 5}));
  g->setGatherAxis(0);
  EXPECT_EQ(g->getGatherAxis(), 0);
  EXPECT_EQ(list(g->getOutput(0)->getDimensions()), (List{5, 3}));
  g->setMode(GatherMode::kND);
  g->setNbElementWiseDims(1);
  EXPECT_EQ(g->getMode(), GatherMode::kND);
  EXPECT_EQ(g->getNbElementWiseDims(), 1);
  EXPECT_EQ(s.network->addGatherV2(x, indices, GatherMode::kELEMENT)->getMode(),
            GatherMode::kELEMENT);
  EXPECT_EQ(list(s.network->addShape(x)->getOutput(0)->getDimensions()), (List{2}));
  IConstantLayer* k = s.network->addConstant(dims({2, 2}), weights({1, 2, 3, 4}));
  EXPECT_EQ(list(k->getDimensions()), (List{2, 2}));
  EXPECT_EQ(k->getNbInputs(), 0);
  k->setDimensions(dims({4}));
  EXPECT_EQ(list(k->getOutput(0)->getDimensions()), (List{4}));
  k->setWeights(weights({5, 6, 7, 8}));
  EXPECT_EQ(static_cast<const float*>(k->getWeights().values)[3], 8);
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
  k->setWeights(weights({5}));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("do not fill"));
}

TEST(Layers, Resize) {
  Session s;
  IResizeLayer* l = s.network->addResize(s.input("x", {1, 3, 4, 4}));
  float scales[4] = {1, 1, 2, 3};
  EXPECT_EQ(l->getScales(4, scales), -1);
  l->setScales(scales, 4);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{1, 3, 8, 12}));
  float back[4] = {};
  EXPECT_EQ(l->getScales(4, back), 4);
  EXPECT_EQ(back[3], 3);
  l->setOutputDimensions(dims({1, 3, 5, 6}));
  EXPECT_EQ(list(l->getOutputDimensions()), (List{1, 3, 5, 6}));
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{1, 3, 5, 6}));
  l->setResizeMode(InterpolationMode::kCUBIC);
  l->setCoordinateTransformation(ResizeCoordinateTransformation::kHALF_PIXEL);
  l->setSelectorForSinglePixel(ResizeSelector::kUPPER);
  l->setNearestRounding(ResizeRoundMode::kCEIL);
  l->setCubicCoeff(-0.5f);
  l->setExcludeOutside(true);
  EXPECT_EQ(l->getResizeMode(), InterpolationMode::kCUBIC);
  EXPECT_EQ(l->getCoordinateTransformation(), ResizeCoordinateTransformation::kHALF_PIXEL);
  EXPECT_EQ(l->getSelectorForSinglePixel(), ResizeSelector::kUPPER);
  EXPECT_EQ(l->getNearestRounding(), ResizeRoundMode::kCEIL);
  EXPECT_EQ(l->getCubicCoeff(), -0.5f);
  EXPECT_TRUE(l->getExcludeOutside());
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
  l->setScales(nullptr, 4);
  scales[0] = -1;
  l->setScales(scales, 4);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("scale 0 is -1"));
}

}  // namespace
}  // namespace tenon::testing
