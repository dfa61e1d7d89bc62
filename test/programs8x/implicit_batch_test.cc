// Programs of TensorRT 8's dialect: createNetworkV2(0) makes a network whose batch is implicit.
#define TENON_TRT_API 8
#include <NvInfer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lenet_values.h"

namespace nvinfer1 {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class Logger : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) text += std::string(message) + '\n';
  }
  std::string text;
};

struct Destroy {
  template <typename T> void operator()(T* object) const { object->destroy(); }
};
template <typename T> using Owned = std::unique_ptr<T, Destroy>;

constexpr int kItems = 5;
constexpr int kPixels = 28 * 28;

std::vector<float> ramp(int64_t count, float step) {
  std::vector<float> v;
  for (int64_t i = 0; i < count; ++i)
    v.push_back(static_cast<float>((i * i * 7 + i * 13) % 31 - 15) * step);
  return v;
}

// LeNet as samples of TensorRT 5 to 8 write it.
class Lenet : public ::testing::Test {
 protected:
  Weights weights(int64_t count, float step) {
    memory_.push_back(ramp(count, step));
    return {DataType::kFLOAT, memory_.back().data(), count};
  }
  Weights value(float v) {
    memory_.push_back({v});
    return {DataType::kFLOAT, memory_.back().data(), 1};
  }
  void add_layers(INetworkDefinition& network) {
    ITensor* data = network.addInput("data", DataType::kFLOAT, Dims3{1, 28, 28});
    IScaleLayer* scale = network.addScale(*data, ScaleMode::kUNIFORM, value(-0.5f), value(0.0625f),
                                          Weights{DataType::kFLOAT, nullptr, 0});
    IConvolutionLayer* conv1 = network.addConvolution(*scale->getOutput(0), 20, DimsHW{5, 5},
                                                      weights(500, 0x1p-6f), weights(20, 0x1p-6f));
    conv1->setStride(DimsHW{1, 1});
    IPoolingLayer* pool1 =
        network.addPooling(*conv1->getOutput(0), PoolingType::kMAX, DimsHW{2, 2});
    pool1->setStride(DimsHW{2, 2});
    IConvolutionLayer* conv2 = network.addConvolution(
        *pool1->getOutput(0), 50, DimsHW{5, 5}, weights(25000, 0x1p-8f), weights(50, 0x1p-6f));
    IPoolingLayer* pool2 =
        network.addPooling(*conv2->getOutput(0), PoolingType::kMAX, DimsHW{2, 2});
    pool2->setStride(DimsHW{2, 2});
    IFullyConnectedLayer* ip1 = network.addFullyConnected(
        *pool2->getOutput(0), 500, weights(400000, 0x1p-9f), weights(500, 0x1p-6f));
    IActivationLayer* relu = network.addActivation(*ip1->getOutput(0), ActivationType::kRELU);
    IFullyConnectedLayer* ip2 = network.addFullyConnected(
        *relu->getOutput(0), 10, weights(5000, 0x1p-9f), weights(10, 0x1p-6f));
    ISoftMaxLayer* prob = network.addSoftMax(*ip2->getOutput(0));
    prob->getOutput(0)->setName("prob");
    network.markOutput(*prob->getOutput(0));
  }
  // An engine of at most kItems images, after a trip through its serialised form.
  void build() {
    Owned<IBuilder> builder(createInferBuilder(logger_));
    Owned<INetworkDefinition> network(builder->createNetworkV2(0U));
    ASSERT_NE(network, nullptr) << logger_.text;
    EXPECT_TRUE(network->hasImplicitBatchDimension());
    add_layers(*network);
    const Dims prob = network->getOutput(0)->getDimensions();
    EXPECT_EQ(std::vector<int64_t>(prob.d, prob.d + prob.nbDims), (std::vector<int64_t>{10, 1, 1}));
    builder->setMaxBatchSize(kItems);
    Owned<IBuilderConfig> config(builder->createBuilderConfig());
    config->setMaxWorkspaceSize(16 << 20);
    Owned<ICudaEngine> built(builder->buildEngineWithConfig(*network, *config));
    ASSERT_NE(built, nullptr) << logger_.text;
    Owned<IHostMemory> plan(built->serialize());
    engine_.reset(runtime_->deserializeCudaEngine(plan->data(), plan->size(), nullptr));
    ASSERT_NE(engine_, nullptr) << logger_.text;
    context_.reset(engine_->createExecutionContext());
  }
  // What the first `items` images give; the rest of the output stays -1.
  std::vector<float> enqueue(int items) {
    std::vector<float> data = ramp(kItems * kPixels, 1), prob(kItems * 10, -1);
    std::vector<void*> bindings(2);
    bindings[engine_->getBindingIndex("data")] = data.data();
    bindings[engine_->getBindingIndex("prob")] = prob.data();
    EXPECT_TRUE(context_->enqueue(items, bindings.data(), nullptr, nullptr)) << logger_.text;
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    return prob;
  }
  void expect_pytorch(const std::vector<float>& prob, int items) {
    for (int i = 0; i < kItems * 10; ++i)
      EXPECT_NEAR(prob[static_cast<size_t>(i)], i < items * 10 ? kLenet[i / 10][i % 10] : -1, 1e-6)
          << "value " << i << " of " << items << " items";
  }
  std::string log() { return std::exchange(logger_.text, ""); }

  Logger logger_;
  std::vector<std::vector<float>> memory_;
  Owned<IRuntime> runtime_{createInferRuntime(logger_)};
  Owned<ICudaEngine> engine_;
  Owned<IExecutionContext> context_;
};

TEST_F(Lenet, GivesWhatPytorchGivesForEveryBatch) {
  build();
  for (const int items : {1, 3, kItems, 2}) expect_pytorch(enqueue(items), items);
  EXPECT_EQ(log(), "");
}

TEST_F(Lenet, RunsOnTheCallersThread) {
  build();
  std::vector<float> data = ramp(kItems * kPixels, 1), prob(kItems * 10, -1);
  void* bindings[] = {data.data(), prob.data()};
  ASSERT_TRUE(context_->execute(3, bindings)) << log();
  expect_pytorch(prob, 3);
}

TEST_F(Lenet, SpeaksOfItems) {
  build();
  EXPECT_TRUE(engine_->hasImplicitBatchDimension());
  EXPECT_EQ(engine_->getMaxBatchSize(), kItems);
  EXPECT_EQ(engine_->getNbBindings(), 2);
  const auto list = [](const Dims& d) { return std::vector<int64_t>(d.d, d.d + d.nbDims); };
  EXPECT_THAT(list(engine_->getBindingDimensions(0)), ElementsAreArray({1, 28, 28}));
  EXPECT_THAT(list(engine_->getBindingDimensions(1)), ElementsAreArray({10, 1, 1}));
  EXPECT_THAT(list(engine_->getProfileDimensions(0, 0, OptProfileSelector::kMAX)),
              ElementsAreArray({1, 28, 28}));
  enqueue(2);
  EXPECT_THAT(list(context_->getBindingDimensions(0)), ElementsAreArray({1, 28, 28}));
  EXPECT_THAT(list(context_->getBindingDimensions(1)), ElementsAreArray({10, 1, 1}));
  EXPECT_THAT(list(context_->getStrides(0)), ElementsAreArray({784, 28, 1}));
}

TEST_F(Lenet, RefusesWhatAnImplicitBatchDoesNotHave) {
  build();
  std::vector<float> data = ramp(kItems * kPixels, 1), prob(kItems * 10, -1);
  void* bindings[] = {data.data(), prob.data()};
  for (const int items : {-1, 0, kItems + 1}) {
    EXPECT_FALSE(context_->enqueue(items, bindings, nullptr, nullptr));
    EXPECT_THAT(log(), HasSubstr("a batch of " + std::to_string(items)
                                 + " items: the engine was built for 1 to 5"));
    EXPECT_FALSE(context_->execute(items, bindings));
    EXPECT_THAT(log(), HasSubstr("setMaxBatchSize"));
  }
  enqueue(2);  // its batch is not for the next run
  EXPECT_FALSE(context_->enqueueV2(bindings, nullptr, nullptr));
  EXPECT_THAT(log(), HasSubstr("the engine has an implicit batch: call execute(batchSize"));
  EXPECT_FALSE(context_->executeV2(bindings));
  EXPECT_THAT(log(), HasSubstr("the engine has an implicit batch: call execute(batchSize"));
  EXPECT_FALSE(context_->setBindingDimensions(0, Dims3{1, 28, 28}));
  EXPECT_THAT(log(), HasSubstr("setInputShape: the engine has an implicit batch"));
  EXPECT_EQ(prob[0], -1);
}

}  // namespace
}  // namespace nvinfer1
