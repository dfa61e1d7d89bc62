// A network of 8.x names, built and run through bindings: the fully connected layer, and the layers
// that stand in for it on libraries without it.
#include <NvInfer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <vector>

namespace nvinfer1 {
namespace {

using ::testing::ElementsAre;

class Logger : public ILogger {
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) std::cerr << message << '\n';
  }
};

struct Destroy {
  template <typename T> void operator()(T* object) const { object->destroy(); }
};
template <typename T> using Owned = std::unique_ptr<T, Destroy>;

const float kKernel[] = {-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6};
const float kBias[] = {1, 2, 3};

// Runs `add` on an input (2, 2, 1, 2) with values 0 to 7; the output has six values.
template <typename Add> std::vector<float> run(Add add) {
  Logger logger;
  Owned<IBuilder> builder(createInferBuilder(logger));
  Owned<INetworkDefinition> network(builder->createNetworkV2(1U));
  ITensor* input = network->addInput("input", DataType::kFLOAT, Dims4{2, 2, 1, 2});
  ILayer* layer = add(*network, *input);
  if (layer == nullptr) return {};
  layer->getOutput(0)->setName("output");
  network->markOutput(*layer->getOutput(0));
  const Dims shape = layer->getOutput(0)->getDimensions();
  EXPECT_EQ(shape.nbDims, 4);
  EXPECT_THAT(std::vector<int64_t>(shape.d, shape.d + 4), ElementsAre(2, 3, 1, 1));

  Owned<IBuilderConfig> config(builder->createBuilderConfig());
  config->setMaxWorkspaceSize(1 << 20);
  Owned<ICudaEngine> engine(builder->buildEngineWithConfig(*network, *config));
  if (engine == nullptr) return {};
  Owned<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> values = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<float> result(6);
  std::vector<void*> bindings(engine->getNbBindings());
  bindings[engine->getBindingIndex("input")] = values.data();
  bindings[engine->getBindingIndex("output")] = result.data();
  EXPECT_TRUE(context->enqueueV2(bindings.data(), nullptr, nullptr));
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  return result;
}

Weights weights(const float* values, int64_t count) {
  return Weights{DataType::kFLOAT, values, count};
}

// Expected: numpy, input.reshape(2, 4) @ kernel.reshape(3, 4).T + bias.
TEST(FullyConnected, MultipliesTheLastThreeDimensions) {
  EXPECT_THAT(run([](INetworkDefinition& network, ITensor& input) {
                return network.addFullyConnected(input, 3, weights(kKernel, 12), weights(kBias, 3));
              }),
              ElementsAre(-15, 10, 35, -71, 18, 107));
}

TEST(FullyConnected, KeepsItsAttributes) {
  Logger logger;
  Owned<IBuilder> builder(createInferBuilder(logger));
  Owned<INetworkDefinition> network(builder->createNetworkV2(1U));
  ITensor* input = network->addInput("input", DataType::kFLOAT, Dims4{2, 2, 1, 2});
  IFullyConnectedLayer* layer =
      network->addFullyConnected(*input, 3, weights(kKernel, 12), weights(kBias, 3));
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(layer->getType(), LayerType::kFULLY_CONNECTED);
  EXPECT_EQ(layer->getNbOutputChannels(), 3);
  const Weights kernel = layer->getKernelWeights();
  ASSERT_EQ(kernel.count, 12);
  EXPECT_EQ(static_cast<const float*>(kernel.values)[11], 6);
  layer->setBiasWeights(weights(kBias, 0));
  EXPECT_EQ(layer->getBiasWeights().count, 0);
  EXPECT_EQ(layer->getKernelWeights().count, 12);
}

TEST(FullyConnected, CanBeMadeOfOtherLayers) {
  EXPECT_THAT(run([](INetworkDefinition& network, ITensor& input) {
                return impl::composeFullyConnected(network, input, 3, weights(kKernel, 12),
                                                   weights(kBias, 3));
              }),
              ElementsAre(-15, 10, 35, -71, 18, 107));
}

TEST(FullyConnected, WithoutBiasCanBeMadeOfOtherLayers) {
  EXPECT_THAT(run([](INetworkDefinition& network, ITensor& input) {
                return impl::composeFullyConnected(network, input, 3, weights(kKernel, 12),
                                                   Weights{DataType::kFLOAT, nullptr, 0});
              }),
              ElementsAre(-16, 8, 32, -72, 16, 104));
}

TEST(FullyConnected, RefusesWeightsThatDoNotFit) {
  Logger logger;
  Owned<IBuilder> builder(createInferBuilder(logger));
  Owned<INetworkDefinition> network(builder->createNetworkV2(1U));
  ITensor* input = network->addInput("input", DataType::kFLOAT, Dims4{2, 2, 1, 2});
  EXPECT_EQ(
      impl::composeFullyConnected(*network, *input, 5, weights(kKernel, 12), weights(kBias, 3)),
      nullptr);
}

}  // namespace
}  // namespace nvinfer1
