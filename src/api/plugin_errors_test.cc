// What applications are told when a plugin is missing, fails, or gets no memory for its output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/gpu.h>

#include <algorithm>

#include "api/testing.h"
#include "plugin_layers/idle_plugin_test.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// What enqueue() of all Errands gives.
int32_t errand_status = 0;

class Errand final : public IdlePlugin {
 public:
  const char* getPluginType() const noexcept override { return "Errand"; }
  const char* getPluginVersion() const noexcept override { return "3"; }
  const char* getPluginNamespace() const noexcept override { return "errands"; }
  Errand* clone() const noexcept override { return new Errand(*this); }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    *static_cast<float*>(outputs[0]) = 7;
    return errand_status;
  }
};

class ErrandCreator final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "Errand"; }
  const char* getPluginVersion() const noexcept override { return "3"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection*) noexcept override {
    return new Errand;
  }
  IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return new Errand;
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return "errands"; }
};

class PluginErrors : public ::testing::Test {
 protected:
  PluginErrors() {
    errand_status = 0;
    getPluginRegistry()->registerCreator(creator_, "errands");
    ITensor* x = &s_.input("x", {1});
    Errand plugin;
    ITensor& y = *s_.network->addPluginV2(&x, 1, plugin)->getOutput(0);
    y.setName("y");
    s_.network->markOutput(y);
  }
  ~PluginErrors() override { getPluginRegistry()->deregisterCreator(creator_); }

  void make() {
    engine_ = s_.engine();
    ASSERT_NE(engine_, nullptr) << s_.logger.take_errors();
    context_.reset(engine_->createExecutionContext());
    context_->setErrorRecorder(&recorder_);
    context_->setTensorAddress("x", &x_);
    context_->setTensorAddress("y", &y_);
    ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
  }
  void TearDown() override {
    if (context_ != nullptr) context_->setErrorRecorder(nullptr);
    if (stream_ != nullptr) {
      EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    }
  }
  // The logger and the recorder, which takes short texts, were told the same, once.
  void expect_one_error(const std::string& text) {
    const std::string logged = s_.logger.take_errors();
    EXPECT_THAT(logged, HasSubstr(text));
    ASSERT_EQ(recorder_.list.size(), 1u) << logged;
    EXPECT_THAT(logged, StartsWith(recorder_.list[0].second));
    EXPECT_EQ(std::count(logged.begin(), logged.end(), '\n'), 1) << logged;
    recorder_.clear();
  }

  ErrandCreator creator_;
  Session s_;
  Recorder recorder_;
  std::unique_ptr<ICudaEngine> engine_;
  std::unique_ptr<IExecutionContext> context_;
  cudaStream_t stream_ = nullptr;
  float x_ = 0, y_ = 0;
};

TEST_F(PluginErrors, AMissingPluginIsNamedWhenThePlanIsLoaded) {
  const auto plan = s_.build();
  ASSERT_NE(plan, nullptr) << s_.logger.take_errors();
  s_.network.reset();
  getPluginRegistry()->deregisterCreator(creator_);
  s_.runtime->setErrorRecorder(&recorder_);
  EXPECT_EQ(s_.runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
  s_.runtime->setErrorRecorder(nullptr);
  expect_one_error("no plugin \"Errand\" version \"3\" is registered in namespace \"errands\"");
}

TEST_F(PluginErrors, AFailureOfARunIsTheResultOfEnqueue) {
  make();
  for (cudaStream_t stream : {stream_, cudaStream_t{}}) {
    errand_status = 5;
    EXPECT_FALSE(context_->enqueueV3(stream));
    expect_one_error("plugin \"Errand\" version \"3\": enqueue() failed with 5");
    // As after a kernel that was never launched, the stream goes on.
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    errand_status = 0;
    y_ = 0;
    EXPECT_TRUE(context_->enqueueV3(stream));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(y_, 7);
  }
  EXPECT_THAT(s_.logger.take_errors(), IsEmpty());
  EXPECT_EQ(recorder_.getNbErrors(), 0);
}

TEST_F(PluginErrors, AFailureInAGraphIsThatOfTheStream) {
  make();
  const bool on_gpu = gpu_of(*engine_) >= 0;
  if (on_gpu) {  // there, a run with new shapes cannot be captured
    ASSERT_TRUE(context_->enqueueV3(stream_));
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launch = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_TRUE(context_->enqueueV3(stream_));
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&launch, graph, 0), cudaSuccess);
  errand_status = 5;
  EXPECT_EQ(cudaGraphLaunch(launch, stream_), cudaSuccess);
  // A graph of a GPU has what the plugin put into the stream, and does not call it again.
  EXPECT_EQ(cudaStreamSynchronize(stream_), on_gpu ? cudaSuccess : cudaErrorLaunchFailure);
  if (!on_gpu) expect_one_error("enqueue() failed with 5");
  EXPECT_EQ(cudaGraphExecDestroy(launch), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  cudaGetLastError();
}

struct NoMemory final : IOutputAllocator {
  void* reallocateOutputAsync(const char*, void*, uint64_t, uint64_t, cudaStream_t) override {
    return nullptr;
  }
  void notifyShape(const char*, const nvinfer1::Dims&) noexcept override {}
};

TEST_F(PluginErrors, AnAllocatorWithoutMemoryIsTheResultOfEnqueue) {
  NoMemory none;
  make();
  context_->setOutputAllocator("y", &none);
  EXPECT_FALSE(context_->enqueueV3(stream_));
  expect_one_error("output 'y': the output allocator gave no memory for 4 bytes");

  // Where only the run tells the size.
  s_.network.reset(s_.builder->createNetworkV2(0));
  ITensor& found = *s_.network->addNonZero(s_.input("x", {1}))->getOutput(0);
  found.setName("y");
  s_.network->markOutput(found);
  engine_ = s_.engine();
  ASSERT_NE(engine_, nullptr) << s_.logger.take_errors();
  context_->setErrorRecorder(nullptr);
  context_.reset(engine_->createExecutionContext());
  context_->setErrorRecorder(&recorder_);
  x_ = 1;
  context_->setTensorAddress("x", &x_);
  context_->setOutputAllocator("y", &none);
  EXPECT_FALSE(context_->enqueueV3(stream_));
  expect_one_error("output 'y': the output allocator gave no memory for 4 bytes");
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
}

// Without code of the application, a run is not waited for. On a GPU the host reads the condition
// before the rest goes into the stream.
TEST_F(PluginErrors, AFailureAfterEnqueueIsReportedToo) {
  s_.network.reset(s_.builder->createNetworkV2(0));
  ITensor& x = s_.input("x", {1}, DataType::kBOOL);
  s_.network->addAssertion(x, "x is to be true");
  ITensor& y = *s_.network->addIdentity(x)->getOutput(0);
  y.setName("y");
  s_.network->markOutput(y);
  make();
  const bool on_gpu = gpu_of(*engine_) >= 0;
  EXPECT_EQ(context_->enqueueV3(stream_), !on_gpu);
  EXPECT_EQ(cudaStreamSynchronize(stream_), on_gpu ? cudaSuccess : cudaErrorLaunchFailure);
  expect_one_error("x is to be true");
  cudaGetLastError();
}

}  // namespace
}  // namespace tenon::testing
