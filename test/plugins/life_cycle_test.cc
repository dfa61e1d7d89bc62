// The life cycles of plugins of IPluginV2Ext and IPluginV2DynamicExt, from the ONNX node to the end
// of the engine, as the tracers tell them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "NvInfer.h"

namespace {

using namespace nvinfer1;  // NOLINT: a client of TensorRT

class Silent final : public ILogger {
  void log(Severity, const char*) noexcept override {}
};

// What each object was told, in order.
std::map<int, std::vector<std::string>> calls(const std::string& printed) {
  std::map<int, std::vector<std::string>> of;
  std::istringstream lines(printed);
  for (std::string name, line; lines >> name;) {
    int object = 0;
    lines >> object;
    std::getline(lines, line);
    of[object].push_back(line.substr(2));
  }
  return of;
}

// -1: not at all.
int64_t place(const std::vector<std::string>& list, const std::string& call) {
  const auto found = std::find(list.begin(), list.end(), call);
  return found == list.end() ? -1 : found - list.begin();
}

class LifeCycleTest : public ::testing::TestWithParam<const char*> {};

TEST_P(LifeCycleTest, IsTheDocumentedOrder) {
  ::testing::internal::CaptureStdout();
  {
    Silent logger;
    std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
    std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
    IPluginCreator* creator = getPluginRegistry()->getPluginCreator(GetParam(), "1");
    ASSERT_NE(creator, nullptr);
    IPluginV2* plugin = creator->createPlugin("traced", nullptr);
    ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{1, {4}});
    IPluginV2Layer* layer = network->addPluginV2(&x, 1, *plugin);
    ASSERT_NE(layer, nullptr);
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    plugin->destroy();
    std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    ASSERT_NE(plan, nullptr);
    std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
    std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    void* memory = nullptr;  // that host and device use
    ASSERT_EQ(cudaMallocHost(&memory, 8 * sizeof(float)), cudaSuccess);
    auto* in = static_cast<float*>(memory);
    float* out = in + 4;
    std::iota(in, in + 8, 1.f);
    void* bindings[] = {in, out};
    EXPECT_TRUE(context->executeV2(bindings));
    EXPECT_EQ(std::vector<float>(out, out + 4), std::vector<float>(in, in + 4));
    cudaFreeHost(memory);
  }
  const auto objects = calls(::testing::internal::GetCapturedStdout());
  std::map<std::string, int> objects_with;
  for (const auto& [object, list] : objects) {
    EXPECT_EQ(list.front().rfind("constructed by", 0), 0u) << object << " " << list.front();
    EXPECT_EQ(list.back(), "destructed") << object;
    for (const char* call : {"initialize", "serialize", "enqueue"})
      objects_with[call] += place(list, call) >= 0;
    const auto in_order = [&](const char* first, const char* second) {
      if (place(list, second) < 0) return;
      EXPECT_GE(place(list, first), 0) << object << " " << first;
      EXPECT_LT(place(list, first), place(list, second)) << object << " " << second;
    };
    in_order("getSerializationSize", "serialize");
    in_order("configurePlugin", "serialize");
    // What is configured for shapes that are known is saved; a context's object is not told again.
    if (std::string(GetParam()) == "CuteSampleDynamicExtPlugin")
      in_order("configurePlugin", "enqueue");
    in_order("initialize", "terminate");
    EXPECT_EQ(place(list, "initialize") >= 0, place(list, "terminate") >= 0) << object;
    // A context runs a clone of an initialised object; clones are initialised as they are made.
    if (place(list, "enqueue") >= 0) {
      EXPECT_EQ(list.front(), "constructed by clone()");
    }
  }
  EXPECT_EQ(objects_with["enqueue"], 1);
  EXPECT_GE(objects_with["initialize"], 1);
  EXPECT_GE(objects_with["serialize"], 1);
}
INSTANTIATE_TEST_SUITE_P(Tracers, LifeCycleTest,
                         ::testing::Values("CuteSamplePlugin", "CuteSampleDynamicExtPlugin"));

}  // namespace
