// What AddressSanitizer says when the engine runs a plugin that writes behind its output; the
// program has this test where everything is built with it.
#include <NvInfer.h>
#include <gtest/gtest.h>

#include <memory>

namespace {

using namespace nvinfer1;  // NOLINT: a client of TensorRT

constexpr int64_t kCount = 24;

class Silent final : public ILogger {
  void log(Severity, const char*) noexcept override {}
};

class OutOfBounds : public ::testing::Test {
 protected:
  // The plugin of test/cli/broken_plugins.cc that writes one element more than its output has.
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    library_ = getPluginRegistry()->loadLibrary(TENON_BROKEN_PLUGINS);
    ASSERT_NE(library_, nullptr);
    IPluginCreator* const creator =
        getPluginRegistry()->getPluginCreator("WritesBehindOutput", "1");
    ASSERT_NE(creator, nullptr);
    const std::unique_ptr<IBuilder> builder(createInferBuilder(logger_));
    const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
    const PluginFieldCollection none{0, nullptr};
    IPluginV2* const plugin = creator->createPlugin("broken", &none);
    ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{1, {kCount}});
    ITensor* const y = network->addPluginV2(&x, 1, *plugin)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    plugin->destroy();
    const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    ASSERT_NE(plan, nullptr);
    engine_.reset(runtime_->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine_, nullptr);
    context_.reset(engine_->createExecutionContext());
    ASSERT_NE(context_, nullptr);
  }
  void TearDown() override {
    context_.reset();
    engine_.reset();
    getPluginRegistry()->deregisterLibrary(library_);
  }
  // With an output of so many elements.
  bool run(int64_t elements) {
    const auto x = std::make_unique<float[]>(kCount);
    const auto y = std::make_unique<float[]>(static_cast<size_t>(elements));
    void* bindings[] = {x.get(), y.get()};
    return context_->executeV2(bindings);
  }

  Silent logger_;
  IPluginRegistry::PluginLibraryHandle library_ = nullptr;
  std::unique_ptr<IRuntime> runtime_{createInferRuntime(logger_)};
  std::unique_ptr<ICudaEngine> engine_;
  std::unique_ptr<IExecutionContext> context_;
};

TEST_F(OutOfBounds, IsFoundWhereThePluginWrites) {
  EXPECT_TRUE(run(kCount + 1));
  EXPECT_DEATH(
      run(kCount),
      "heap-buffer-overflow.*WRITE of size 4.*#0 [^\n]* in [^\n]*run[^\n]*broken_plugins.cc:"
      ".*is located 0 bytes (after|to the right of) 96-byte region");
}

}  // namespace
