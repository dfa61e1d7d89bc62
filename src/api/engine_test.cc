// Whole runs as applications make them: a network by hand, a plan, an engine, contexts.

#include "api/cnn_testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;
using ::testing::Pointwise;

TEST(Engine, AStaticNetworkRunsWithExecuteV2) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const Context context(engine->createExecutionContext());
  const Floats x = numbers(2 * 6 * 4, 0.5f);
  Floats y(3 * 3 * 2, -1);
  void* bindings[] = {const_cast<float*>(x.data()), y.data()};
  ASSERT_TRUE(context->executeV2(bindings)) << s.logger.take_errors();
  EXPECT_THAT(y, Pointwise(::testing::FloatNear(1e-4f), cnn.expected(x, 1, 6, 4)));
  EXPECT_FALSE(context->executeV2(nullptr));
  void* nulls[] = {nullptr, nullptr};
  s.logger.take_errors();
  EXPECT_FALSE(context->executeV2(nulls));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("'image' has no address"));
}

TEST(Engine, DescribesItsTensors) {
  Session s;
  Cnn().add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  ASSERT_EQ(engine->getNbIOTensors(), 2);
  EXPECT_STREQ(engine->getIOTensorName(0), "image");
  EXPECT_STREQ(engine->getIOTensorName(1), "features");
  EXPECT_EQ(engine->getIOTensorName(2), nullptr);
  EXPECT_EQ(engine->getTensorIOMode("image"), TensorIOMode::kINPUT);
  EXPECT_EQ(engine->getTensorIOMode("features"), TensorIOMode::kOUTPUT);
  EXPECT_EQ(engine->getTensorIOMode("nobody"), TensorIOMode::kNONE);
  EXPECT_EQ(engine->getTensorIOMode(nullptr), TensorIOMode::kNONE);
  EXPECT_EQ(list(engine->getTensorShape("image")), (List{-1, 2, -1, -1}));
  EXPECT_EQ(list(engine->getTensorShape("features")), (List{-1, 3, -1, -1}));
  EXPECT_EQ(engine->getTensorDataType("features"), DataType::kFLOAT);
  EXPECT_EQ(engine->getTensorLocation("image"), TensorLocation::kDEVICE);
  EXPECT_EQ(engine->getTensorFormat("image"), TensorFormat::kLINEAR);
  EXPECT_THAT(engine->getTensorFormatDesc("image"), HasSubstr("kLINEAR"));
  EXPECT_EQ(engine->getNbOptimizationProfiles(), 1);
  EXPECT_EQ(list(engine->getProfileShape("image", 0, OptProfileSelector::kMAX)),
            (List{2, 2, 16, 16}));
  EXPECT_EQ(engine->getProfileShape("image", 1, OptProfileSelector::kMAX).nbDims, -1);
  EXPECT_EQ(engine->getProfileShape("features", 0, OptProfileSelector::kMAX).nbDims, -1);
  s.logger.take_errors();
  EXPECT_EQ(engine->getTensorShape("imag").nbDims, -1);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("it has 'image', 'features'"));
  const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
  EXPECT_THAT(inspector->getEngineInformation(LayerInformationFormat::kJSON), HasSubstr("conv"));
  EXPECT_EQ(inspector->getLayerInformation(999, LayerInformationFormat::kJSON), nullptr);
  EXPECT_NE(inspector->getLayerInformation(0, LayerInformationFormat::kONELINE), nullptr);
}

TEST(Engine, DynamicShapesUseTwoProfiles) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  add_profile(s, {1, 2, 20, 20}, {1, 2, 20, 20}, {1, 2, 32, 32});
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const Context context(engine->createExecutionContext());
  const CudaStream stream;
  const char* missing[2] = {};
  EXPECT_EQ(context->inferShapes(2, missing), 1);
  EXPECT_STREQ(missing[0], "image");
  EXPECT_FALSE(context->allInputDimensionsSpecified());
  EXPECT_EQ(list(context->getTensorShape("features")), (List{-1, 3, -1, -1}));
  EXPECT_EQ(context->getMaxOutputSize("features"), 2 * 3 * 8 * 8 * 4);
  EXPECT_FALSE(context->enqueueV3(stream.stream));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("'image' has no shape yet"));
  expect_right(cnn, *context, 1, 4, 4, stream.stream);
  expect_right(cnn, *context, 2, 16, 6, stream.stream);
  expect_right(cnn, *context, 1, 4, 4, stream.stream);
  EXPECT_EQ(context->inferShapes(0, nullptr), 0);
  EXPECT_TRUE(context->allInputShapesSpecified());
  EXPECT_EQ(list(context->getTensorStrides("image")), (List{32, 16, 4, 1}));
  EXPECT_FALSE(context->setInputShape("image", dims({1, 2, 20, 20})));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("outside profile 0"));
  EXPECT_FALSE(context->setInputShape("features", dims({1})));
  EXPECT_FALSE(context->setInputShape("image", dims({1, 2})));
  EXPECT_FALSE(context->setInputShape("image", nvinfer1::Dims{-1, {}}));
  ASSERT_TRUE(context->setOptimizationProfileAsync(1, stream.stream));
  EXPECT_EQ(context->getOptimizationProfile(), 1);
  EXPECT_FALSE(context->allInputDimensionsSpecified());
  expect_right(cnn, *context, 1, 20, 32, stream.stream);
  EXPECT_FALSE(context->setOptimizationProfileAsync(2, stream.stream));
  EXPECT_EQ(context->getOptimizationProfile(), 1);
}

TEST(Engine, ADynamicNetworkWithoutAProfileSaysWhatToDo) {
  Session s;
  Cnn().add_to(s, true);
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("setDimensions"));
}

TEST(Engine, TheBindingsOf8xWork) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const Context context(engine->createExecutionContext());
  const int image = engine->getBindingIndex("image"),
            features = engine->getBindingIndex("features");
  EXPECT_TRUE(engine->bindingIsInput(image));
  ASSERT_TRUE(context->setBindingDimensions(image, dims({1, 2, 4, 6})));
  EXPECT_TRUE(context->allInputDimensionsSpecified());
  EXPECT_EQ(list(context->getBindingDimensions(features)), (List{1, 3, 2, 3}));
  const Floats x = numbers(2 * 4 * 6, 0.5f);
  Floats y(3 * 2 * 3, -1);
  void* bindings[2] = {};
  bindings[image] = const_cast<float*>(x.data());
  bindings[features] = y.data();
  const CudaStream stream;
  ASSERT_TRUE(context->enqueueV2(bindings, stream.stream, nullptr));
  cudaStreamSynchronize(stream.stream);
  EXPECT_THAT(y, Pointwise(::testing::FloatNear(1e-4f), cnn.expected(x, 1, 4, 6)));
}

TEST(Engine, ABuiltEngineEqualsADeserialisedOne) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  const std::unique_ptr<ICudaEngine> engine(
      s.builder->buildEngineWithConfig(*s.network, *s.config));
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const CudaStream stream;
  expect_right(cnn, *Context(engine->createExecutionContext()), 1, 8, 8, stream.stream);
  const std::unique_ptr<IHostMemory> once(engine->serialize());
  const std::unique_ptr<ICudaEngine> copy(
      s.runtime->deserializeCudaEngine(once->data(), once->size()));
  ASSERT_NE(copy, nullptr) << s.logger.take_errors();
  const std::unique_ptr<IHostMemory> twice(copy->serialize());
  ASSERT_EQ(once->size(), twice->size());
  EXPECT_EQ(std::memcmp(once->data(), twice->data(), once->size()), 0);
  const std::unique_ptr<ISerializationConfig> config(engine->createSerializationConfig());
  EXPECT_NE(std::unique_ptr<IHostMemory>(engine->serializeWithConfig(*config)), nullptr);
  EXPECT_TRUE(config->setFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
  EXPECT_EQ(engine->serializeWithConfig(*config), nullptr);
  // The network may be changed and built again.
  s.network->getInput(0)->setDimensions(dims({-1, 2, 4, -1}));
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("image"));
}

}  // namespace
}  // namespace tenon::testing
