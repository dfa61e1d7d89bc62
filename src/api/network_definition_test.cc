#include "api/network_definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Network, ShapesFollowFromLayersAsTheyAreChanged) {
  Session s;
  ITensor& x = s.input("x", {1, 3, 32, 32});
  const std::vector<float> kernel(8 * 3 * 3 * 3, 0.1f);
  IConvolutionLayer* conv = s.network->addConvolutionNd(x, 8, dims({3, 3}), weights(kernel), kNone);
  ITensor* y = conv->getOutput(0);
  EXPECT_EQ(list(y->getDimensions()), (List{1, 8, 30, 30}));
  conv->setPaddingNd(dims({1, 1}));
  EXPECT_EQ(list(y->getDimensions()), (List{1, 8, 32, 32}));
  IPoolingLayer* pool = s.network->addPoolingNd(*y, PoolingType::kMAX, dims({2, 2}));
  pool->setStrideNd(dims({2, 2}));
  EXPECT_EQ(list(pool->getOutput(0)->getDimensions()), (List{1, 8, 16, 16}));
  conv->setStrideNd(dims({2, 2}));
  EXPECT_EQ(list(pool->getOutput(0)->getDimensions()), (List{1, 8, 8, 8}));
  x.setDimensions(dims({-1, 3, 64, -1}));
  EXPECT_EQ(list(pool->getOutput(0)->getDimensions()), (List{-1, 8, 16, -1}));
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
}

TEST(Network, AShapeThatCannotBeInferredNamesTheLayer) {
  Session s;
  ITensor& x = s.input("x", {1, 3, 8, 8});
  const std::vector<float> kernel(8 * 5 * 3 * 3);
  IConvolutionLayer* conv = s.network->addConvolutionNd(x, 8, dims({3, 3}), weights(kernel), kNone);
  ASSERT_NE(conv, nullptr);
  conv->setName("bad_conv");
  EXPECT_EQ(conv->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("bad_conv"));
  ITensor* after = s.network->addIdentity(*conv->getOutput(0))->getOutput(0);
  EXPECT_EQ(after->getDimensions().nbDims, -1);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("bad_conv"));
  // What does not depend on it is still known.
  EXPECT_EQ(list(s.network->addIdentity(x)->getOutput(0)->getDimensions()), (List{1, 3, 8, 8}));
}

TEST(Network, ACycleIsAnError) {
  Session s;
  ITensor& x = s.input("x", {4});
  IIdentityLayer* a = s.network->addIdentity(x);
  IIdentityLayer* b = s.network->addIdentity(*a->getOutput(0));
  a->setInput(0, *b->getOutput(0));
  EXPECT_EQ(b->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("cycle"));
}

TEST(Network, FacadesAreTheSameEachTime) {
  Session s;
  ITensor& x = s.input("x", {4});
  IActivationLayer* relu = s.network->addActivation(x, ActivationType::kRELU);
  s.network->markOutput(*relu->getOutput(0));
  EXPECT_EQ(s.network->getLayer(0), relu);
  EXPECT_EQ(s.network->getInput(0), &x);
  EXPECT_EQ(relu->getInput(0), &x);
  EXPECT_EQ(s.network->getOutput(0), relu->getOutput(0));
  EXPECT_EQ(s.network->getLayer(1), nullptr);
  EXPECT_EQ(s.network->getLayer(-1), nullptr);
  EXPECT_EQ(s.network->getInput(7), nullptr);
  EXPECT_EQ(relu->getOutput(1), nullptr);
  EXPECT_EQ(relu->getInput(-1), nullptr);
}

TEST(Network, NamesOfInputsAndOutputsAreUnique) {
  Session s;
  ITensor& x = s.input("x", {4});
  EXPECT_EQ(s.network->addInput("x", DataType::kFLOAT, dims({4})), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("'x'"));
  ITensor* y = s.network->addIdentity(x)->getOutput(0);
  s.network->markOutput(*y);
  y->setName("x");
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("unique"));
  EXPECT_STRNE(y->getName(), "x");
  y->setName("y");
  EXPECT_STREQ(y->getName(), "y");
  EXPECT_TRUE(y->isNetworkOutput());
  EXPECT_TRUE(x.isNetworkInput());
  s.network->unmarkOutput(*y);
  EXPECT_EQ(s.network->getNbOutputs(), 0);
  s.network->removeTensor(x);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("still used"));
}

TEST(Network, BadArgumentsAreErrorsAndAddNothing) {
  Session s, other;
  ITensor& x = s.input("x", {1, 3, 8, 8});
  ITensor& foreign = other.input("x", {1});
  nvinfer1::Dims too_many{9, {}};
  EXPECT_EQ(s.network->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
  EXPECT_EQ(s.network->addInput("", DataType::kFLOAT, dims({1})), nullptr);
  EXPECT_EQ(s.network->addInput("y", DataType::kFLOAT, too_many), nullptr);
  EXPECT_EQ(s.network->addInput("y", static_cast<DataType>(99), dims({1})), nullptr);
  EXPECT_EQ(s.network->addInput("y", DataType::kFLOAT, dims({-2})), nullptr);
  EXPECT_EQ(s.network->addIdentity(foreign), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("does not belong to this network"));
  EXPECT_EQ(s.network->addActivation(x, static_cast<ActivationType>(-1)), nullptr);
  EXPECT_EQ(s.network->addConvolutionNd(x, 0, dims({3, 3}), kNone, kNone), nullptr);
  EXPECT_EQ(s.network->addConvolutionNd(x, 1, dims({3}), kNone, kNone), nullptr);
  EXPECT_EQ(s.network->addConvolutionNd(x, 1, dims({3, 0}), kNone, kNone), nullptr);
  EXPECT_EQ(s.network->addConvolutionNd(x, 1, dims({3, 3}), {DataType::kFLOAT, nullptr, 27}, kNone),
            nullptr);
  EXPECT_EQ(s.network->addPoolingNd(x, PoolingType::kMAX, dims({2, 2, 2, 2})), nullptr);
  EXPECT_EQ(s.network->addConcatenation(nullptr, 2), nullptr);
  ITensor* holes[] = {&x, nullptr};
  EXPECT_EQ(s.network->addConcatenation(holes, 2), nullptr);
  EXPECT_EQ(s.network->addConcatenation(holes, -1), nullptr);
  EXPECT_EQ(s.network->addSlice(x, dims({0, 0}), dims({1}), dims({1, 1})), nullptr);
  EXPECT_EQ(s.network->addReduce(x, ReduceOperation::kSUM, 1u << 4, true), nullptr);
  EXPECT_EQ(s.network->addConstant(dims({2, 2}), weights({1, 2, 3})), nullptr);
  EXPECT_EQ(s.network->getNbLayers(), 0);
  EXPECT_EQ(s.network->getNbInputs(), 1);
  s.network->markOutput(foreign);
  s.network->setName(nullptr);
  x.setName(nullptr);
  x.setAllowedFormats(0);
  EXPECT_FALSE(x.setDynamicRange(1, -1));
  EXPECT_FALSE(x.setDynamicRange(0, std::numeric_limits<float>::infinity()));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("is not a range"));
}

TEST(Network, WhatIsMissingSaysSo) {
  Session s;
  ITensor& x = s.input("x", {1, 3, 8, 8});
  EXPECT_EQ(s.network->addMoE(x, x, x), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("addMoE: not supported yet"));
  EXPECT_FALSE(s.network->markWeightsRefittable("w"));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("no weights of this network have the name 'w'"));
  EXPECT_EQ(s.builder->createNetworkV2(1u << 20), nullptr);
}

TEST(Network, TensorPropertiesAreKept) {
  Session s;
  ITensor& x = s.input("x", {-1, 3});
  EXPECT_EQ(x.getDimensionName(0), nullptr);
  x.setDimensionName(0, "batch");
  EXPECT_STREQ(x.getDimensionName(0), "batch");
  x.setDimensionName(5, "none");
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("dimension 5"));
  EXPECT_FALSE(x.dynamicRangeIsSet());
  EXPECT_TRUE(x.setDynamicRange(-2, 3));
  EXPECT_EQ(x.getDynamicRangeMin(), -2);
  EXPECT_EQ(x.getDynamicRangeMax(), 3);
  x.resetDynamicRange();
  EXPECT_FALSE(x.dynamicRangeIsSet());
  EXPECT_EQ(x.getAllowedFormats(), (1u << EnumMax<TensorFormat>()) - 1) << "all, until it is set";
  x.setAllowedFormats(5);
  EXPECT_EQ(x.getAllowedFormats(), 5u);
  x.setType(DataType::kINT32);
  EXPECT_EQ(x.getType(), DataType::kINT32);
  EXPECT_EQ(s.network->addIdentity(x)->getOutput(0)->getType(), DataType::kINT32);
}

TEST(Network, ShapeTensorsAreKnown) {
  Session s;
  ITensor& x = s.input("x", {-1, 3});
  ITensor& size = s.input("size", {2}, DataType::kINT32);
  ITensor& plain = s.input("plain", {2}, DataType::kINT32);
  EXPECT_TRUE(s.network->addShape(x)->getOutput(0)->isShapeTensor());
  IShuffleLayer* reshape = s.network->addShuffle(x);
  reshape->setInput(1, size);
  EXPECT_EQ(list(reshape->getOutput(0)->getDimensions()), (List{-1, -1}));
  EXPECT_TRUE(size.isShapeTensor());
  EXPECT_FALSE(plain.isShapeTensor());
  EXPECT_FALSE(x.isShapeTensor());
  EXPECT_TRUE(x.isExecutionTensor());
}

TEST(Network, AScalarThatIsAShapeIsAShapeTensor) {
  Session s;
  ITensor& scalar = s.input("scalar", {}, DataType::kINT32);
  EXPECT_FALSE(scalar.isShapeTensor());
  IFillLayer* fill =
      s.network->addFill(nvinfer1::Dims{0, {}}, FillOperation::kLINSPACE, DataType::kFLOAT);
  fill->setInput(0, scalar);
  s.network->markOutput(*fill->getOutput(0));
  EXPECT_TRUE(scalar.isShapeTensor());
  s.logger.take_errors();
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("expected one-dimensional dimensions (input 0)"));
}

TEST(Network, LayerPropertiesAreKept) {
  Session s;
  ILayer* layer = s.network->addIdentity(s.input("x", {4}));
  EXPECT_FALSE(layer->precisionIsSet());
  layer->setPrecision(DataType::kHALF);
  EXPECT_EQ(layer->getPrecision(), DataType::kHALF);
  layer->resetPrecision();
  EXPECT_FALSE(layer->precisionIsSet());
  layer->setOutputType(0, DataType::kHALF);
  EXPECT_TRUE(layer->outputTypeIsSet(0));
  EXPECT_EQ(layer->getOutputType(0), DataType::kHALF);
  layer->resetOutputType(0);
  EXPECT_FALSE(layer->outputTypeIsSet(0));
  layer->setOutputType(3, DataType::kHALF);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("no output 3"));
  layer->setName("copy");
  layer->setMetadata("from test");
  EXPECT_STREQ(layer->getName(), "copy");
  EXPECT_STREQ(layer->getMetadata(), "from test");
  EXPECT_EQ(layer->getType(), LayerType::kIDENTITY);
}

TEST(Network, ParserAndFacadesShareOneNetwork) {
  Session s;
  Network* network = network_of(*s.network);
  ASSERT_NE(network, nullptr);
  network->add_input("direct", DataType::kFLOAT, {2});
  EXPECT_STREQ(s.network->getInput(0)->getName(), "direct");
  INetworkDefinition* gone = s.network.release();
  delete gone;
  EXPECT_EQ(network_of(*gone), nullptr);
}

TEST(Network, WeightsAreCopiedAndCanBeNamed) {
  Session s;
  std::vector<float> values{1, 2, 3};
  ITensor& x = s.input("x", {1, 3, 1, 1});
  IScaleLayer* scale = s.network->addScale(x, ScaleMode::kCHANNEL, weights(values), kNone, kNone);
  EXPECT_TRUE(s.network->setWeightsName(weights(values), "shift"));
  EXPECT_FALSE(s.network->setWeightsName(kNone, "nothing"));
  values.assign(3, 0);
  EXPECT_FALSE(s.network->setWeightsName(weights(values), "others at that address"));
  ASSERT_EQ(scale->getShift().count, 3);
  EXPECT_EQ(static_cast<const float*>(scale->getShift().values)[1], 2);
  EXPECT_EQ(scale->getScale().count, 0);
  EXPECT_EQ(scale->getNbInputs(), 1);
}

}  // namespace
}  // namespace tenon::testing
