// Plugins that put work into the stream they are called with, while other streams run, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "api/testing.h"
#include "plugin_layers/idle_plugin_test.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does

// y = x, as CUDA copies it, after a while in which other runs begin.
class StreamCopy final : public IdlePlugin {
 public:
  const char* getPluginType() const noexcept override { return "StreamCopy"; }
  StreamCopy* clone() const noexcept override { return new StreamCopy(*this); }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t stream) noexcept override {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    const auto bytes = static_cast<size_t>(in[0].dims.d[0]) * sizeof(float);
    return static_cast<int32_t>(
        cudaMemcpyAsync(outputs[0], inputs[0], bytes, cudaMemcpyDeviceToDevice, stream));
  }
};

class StreamCopyCreator final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "StreamCopy"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection*) noexcept override {
    return new StreamCopy;
  }
  IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return new StreamCopy;
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};

// The threads of all runs are one arena's: one may do the steps of another's run.
TEST(PluginStreams, OfSeveralThreadsDoNotWaitForEachOther) {
  StreamCopyCreator creator;
  getPluginRegistry()->registerCreator(creator, "");
  {
    Session s;
    ITensor* x = &s.input("x", {16});
    StreamCopy plugin;
    ITensor& y = *s.network->addPluginV2(&x, 1, plugin)->getOutput(0);
    y.setName("y");
    s.network->markOutput(y);
    const auto engine = s.engine();
    ASSERT_NE(engine, nullptr) << s.logger.take_errors();
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
        cudaStream_t stream = nullptr;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        Floats in(16), out(16);
        context->setTensorAddress("x", in.data());
        context->setTensorAddress("y", out.data());
        for (int i = 0; i < 200; ++i) {
          std::fill(in.begin(), in.end(), static_cast<float>(i + t));
          ASSERT_TRUE(context->enqueueV3(stream));
          ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
          ASSERT_EQ(out, in);
        }
        cudaStreamDestroy(stream);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(s.logger.take_errors(), "");
  }
  getPluginRegistry()->deregisterCreator(creator);
}

}  // namespace
}  // namespace tenon::testing
