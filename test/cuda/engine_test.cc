// What only a GPU shows of engines: CUDA graphs, contexts side by side, memory that is not there,
// and a device that another kernel has broken.
#include "test/support/engine.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "npz.h"
#include "tenon/build.h"
#include "tenon_source_dir.h"
#include "test/cuda/keeping.h"
#include "test/cuda/wild_write.h"
#include "test/support/device_array.h"
#include "test/support/run.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // NOLINT: a client of TensorRT
using ::testing::AllOf;
using ::testing::HasSubstr;

// A run of a context, captured.
class Graph {
 public:
  Graph(IExecutionContext& context, cudaStream_t stream) {
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_TRUE(context.enqueueV3(stream));
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&executable_, graph_, 0), cudaSuccess);
  }
  ~Graph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  operator cudaGraphExec_t() const { return executable_; }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

class CudaEngineTest : public ::testing::Test {
 protected:
  using Layers = std::function<ITensor&(INetworkDefinition&)>;

  // A network with one output, "y".
  void build(const Layers& layers, const std::function<void(IOptimizationProfile&)>& ranges = {},
             int32_t aux_streams = -1, const char* target = "") {
    const std::unique_ptr<IBuilder> builder(createInferBuilder(logger_));
    const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
    ITensor& y = layers(*network);
    y.setName("y");
    network->markOutput(y);
    const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    config->setMaxAuxStreams(aux_streams);
    config->clearFlag(BuilderFlag::kTF32);  // targets are compared in float32
    EXPECT_TRUE(set_target(*config, target));
    if (ranges) {
      IOptimizationProfile* profile = builder->createOptimizationProfile();
      ranges(*profile);
      config->addOptimizationProfile(profile);
    }
    load(std::unique_ptr<IHostMemory>(builder->buildSerializedNetwork(*network, *config)));
  }
  void load(std::unique_ptr<IHostMemory> plan) {
    ASSERT_NE(plan, nullptr) << logger_.take();
    runtime_.reset(createInferRuntime(logger_));
    engine_.reset(runtime_->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine_, nullptr) << logger_.take();
  }
  // A model with a plugin, and a case of it.
  void load_model() {
    const std::string folder = TENON_SOURCE_DIR "/test/golden/dcn_block/";
    InputShapes shapes;
    for (auto& [name, array] : tool::read_npz(folder + "case_3x8x9x8.npz")) {
      const bool is_input = name.starts_with("in:");
      (is_input ? inputs_ : expected_)[name.substr(name.find(':') + 1)] = array;
    }
    for (const auto& [name, array] : inputs_) shapes[name] = {*session::to_dims(array.shape)};
    load(build_plan(logger_, folder + "model.onnx", shapes));
  }
  using Memory = std::map<std::string, std::unique_ptr<DeviceArray>>;
  // Shapes of that case, and memory for its inputs and outputs.
  Memory bind(IExecutionContext& context) {
    Memory memory;
    for (const session::Arrays* arrays : {&inputs_, &expected_})
      for (const auto& [name, array] : *arrays) {
        memory[name] = std::make_unique<DeviceArray>(array.bytes.size());
        EXPECT_TRUE(context.setTensorAddress(name.c_str(), memory[name]->data()));
      }
    for (const auto& [name, array] : inputs_)
      EXPECT_TRUE(context.setInputShape(name.c_str(), *session::to_dims(array.shape)));
    return memory;
  }
  static void expect_near(const std::vector<double>& found, const std::vector<double>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], wanted[i], 1e-5 + 1e-3 * std::abs(wanted[i])) << i;
  }

  Keeping logger_;
  session::Arrays inputs_, expected_;
  std::unique_ptr<IRuntime> runtime_;
  std::unique_ptr<ICudaEngine> engine_;
};

TEST_F(CudaEngineTest, AGraphWithAPluginRunsAgainWithWhatItsInputsHoldThen) {
  load_model();
  ASSERT_NE(engine_, nullptr);
  const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
  const Memory memory = bind(*context);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_TRUE(context->enqueueV3(stream)) << logger_.take();  // takes the memory it needs
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  const Graph graph(*context, stream);
  for (const auto& [name, array] : inputs_)
    ASSERT_EQ(cudaMemcpy(memory.at(name)->data(), array.bytes.data(), array.bytes.size(),
                         cudaMemcpyHostToDevice),
              cudaSuccess);
  for (int i = 0; i < 3; ++i) {
    for (const auto& [name, array] : expected_)
      ASSERT_EQ(cudaMemset(memory.at(name)->data(), 0xff, array.bytes.size()), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(graph, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    for (const auto& [name, array] : expected_) {
      session::Array found = array;
      ASSERT_EQ(cudaMemcpy(found.bytes.data(), memory.at(name)->data(), found.bytes.size(),
                           cudaMemcpyDeviceToHost),
                cudaSuccess);
      expect_near(*session::numbers(found), *session::numbers(array));
    }
  }
  cudaStreamDestroy(stream);
}

TEST_F(CudaEngineTest, WhatWaitsForTheDeviceCannotBeCaptured) {
  build([](INetworkDefinition& network) -> ITensor& {
    ITensor* x = network.addInput("x", DataType::kBOOL, Dims{1, {4}});
    return *network.addNonZero(*x)->getOutput(0);
  });
  ASSERT_NE(engine_, nullptr);
  const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
  const DeviceArray x(4), y(64);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()));
  ASSERT_TRUE(context->setTensorAddress("y", y.data()));
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_TRUE(context->enqueueV3(stream)) << logger_.take();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_FALSE(context->enqueueV3(stream));
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_THAT(logger_.take(), HasSubstr("cannot be captured into a CUDA graph: layer"));
  EXPECT_TRUE(context->enqueueV3(stream)) << logger_.take();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_F(CudaEngineTest, ContextsRunSideBySide) {
  load_model();
  ASSERT_NE(engine_, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i)
        for (const auto& [name, array] : run_engine(*engine_, inputs_, Way::kEnqueueV3))
          expect_near(*session::numbers(array), *session::numbers(expected_.at(name)));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(logger_.take(), "");
}

// Four branches of products, long enough that they overlap. Each run of an engine gives the same,
// and what one stream gives, but for the order of sums, which each build's algorithms choose.
TEST_F(CudaEngineTest, BranchesRunInAuxiliaryStreams) {
  constexpr int64_t kSize = 256;
  std::vector<float> numbers(kSize * kSize);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 37) / 300.f;
  const auto branches = [&](INetworkDefinition& network) -> ITensor& {
    ITensor* x = network.addInput("x", DataType::kFLOAT, Dims{2, {kSize, kSize}});
    ITensor* sum = x;
    for (int branch = 0; branch < 4; ++branch) {
      ITensor* y = x;
      for (int i = 0; i < 6 + branch; ++i)
        y = network.addMatrixMultiply(*y, MatrixOperation::kNONE, *x, MatrixOperation::kTRANSPOSE)
                ->getOutput(0);
      sum = network.addElementWise(*sum, *y, ElementWiseOperation::kMAX)->getOutput(0);
    }
    return *sum;
  };
  const DeviceArray x(numbers.data(), numbers.size() * sizeof(float));
  std::vector<std::vector<float>> expected;
  for (const int32_t aux_streams : {0, 3}) {
    build(branches, {}, aux_streams);
    ASSERT_NE(engine_, nullptr);
    EXPECT_EQ(engine_->getNbAuxStreams(), aux_streams);
    const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
    cudaStream_t streams[3] = {};
    for (cudaStream_t& stream : streams) ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    for (const bool given : {false, true}) {
      if (given) context->setAuxStreams(streams + 1, 2);
      for (int round = 0; round < 20; ++round) {
        const DeviceArray y(numbers.size() * sizeof(float));
        context->setTensorAddress("x", x.data());
        context->setTensorAddress("y", y.data());
        ASSERT_TRUE(context->enqueueV3(streams[0])) << logger_.take();
        ASSERT_EQ(cudaStreamSynchronize(streams[0]), cudaSuccess);
        const auto result = on_host<float>(y.data(), numbers.size());
        if (round == 0 && !given) expected.push_back(result);
        ASSERT_EQ(result, expected.back()) << aux_streams << ", round " << round;
      }
    }
    for (cudaStream_t stream : streams) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  for (size_t i = 0; i < numbers.size(); ++i)
    ASSERT_NEAR(expected[1][i], expected[0][i], 3e-5f * expected[0][i]) << i;
}

// Such a kernel would break the device for the whole process.
TEST_F(CudaEngineTest, AddressesThatItsKernelsCannotUseAreAnErrorOfThatRunAlone) {
  constexpr int64_t kSize = 64;
  build([](INetworkDefinition& network) -> ITensor& {
    ITensor* x = network.addInput("x", DataType::kFLOAT, Dims{2, {kSize, kSize}});
    return *network.addMatrixMultiply(*x, MatrixOperation::kNONE, *x, MatrixOperation::kNONE)
                ->getOutput(0);
  });
  ASSERT_NE(engine_, nullptr);
  const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
  const std::vector<float> ones(kSize * kSize + 4, 1.f);
  const DeviceArray x(ones.data(), ones.size() * sizeof(float)), y(ones.size() * sizeof(float));
  context->setTensorAddress("y", y.data());
  for (const int64_t first : {0, 1, 4}) {
    context->setTensorAddress("x", static_cast<float*>(x.data()) + first);
    EXPECT_EQ(context->enqueueV3(nullptr), first != 1);
    EXPECT_THAT(logger_.take(), HasSubstr(first == 1 ? "at multiples of 16 bytes" : ""));
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(on_host<float>(y.data(), 1)[0], kSize);
  }
}

TEST_F(CudaEngineTest, AnEngineOnTheCpuRefusesMemoryOfAGpu) {
  build(
      [](INetworkDefinition& network) -> ITensor& {
        ITensor* x = network.addInput("x", DataType::kFLOAT, Dims{1, {4}});
        return *network.addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
      },
      {}, -1, "cpu");
  ASSERT_NE(engine_, nullptr);
  const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
  float x[] = {1, 2, 3, 4}, y[4] = {};
  const DeviceArray on_gpu(x, sizeof(x));
  const auto said_of = [&](void* input, void* output) {
    context->setTensorAddress("x", input);
    context->setTensorAddress("y", output);
    EXPECT_EQ(context->enqueueV3(nullptr), input != on_gpu.data() && output != on_gpu.data());
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    return logger_.take();
  };
  EXPECT_EQ(said_of(x, y), "");
  EXPECT_THAT(said_of(on_gpu.data(), y),
              AllOf(HasSubstr("input 'x': its address 0x"),
                    HasSubstr("is a GPU's memory, and the engine runs on the CPU")));
  EXPECT_THAT(said_of(x, on_gpu.data()), HasSubstr("output 'y': its address 0x"));
  EXPECT_EQ(said_of(x, y), "");
  EXPECT_EQ(y[3], 8);
}

TEST_F(CudaEngineTest, AnEngineOnTheCpuAsksForMemoryOfDataDependentOutputs) {
  build(
      [](INetworkDefinition& network) -> ITensor& {
        return *network.addNonZero(*network.addInput("x", DataType::kFLOAT, Dims{1, {4}}))
                    ->getOutput(0);
      },
      {}, -1, "cpu");
  ASSERT_NE(engine_, nullptr);
  const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
  const std::vector<float> x = {0, 2, 0, 4};
  context->setTensorAddress("x", const_cast<float*>(x.data()));
  session::GrowingOutput y{session::Memory(*engine_)};
  context->setOutputAllocator("y", &y);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_TRUE(context->enqueueV3(stream)) << logger_.take();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(session::to_shape(y.shape()), (session::Shape{1, 2}));
  EXPECT_EQ(static_cast<const int32_t*>(y.data())[1], 3);
}

TEST_F(CudaEngineTest, AnEngineOnTheCpuRefusesAGpusMemoryForItsTensors) {
  build(
      [](INetworkDefinition& network) -> ITensor& {
        ITensor* x = network.addInput("x", DataType::kFLOAT, Dims{2, {8, 8}});
        x = network.addMatrixMultiply(*x, MatrixOperation::kNONE, *x, MatrixOperation::kNONE)
                ->getOutput(0);
        return *network.addMatrixMultiply(*x, MatrixOperation::kNONE, *x, MatrixOperation::kNONE)
                    ->getOutput(0);
      },
      {}, -1, "cpu");
  ASSERT_NE(engine_, nullptr);
  const std::unique_ptr<IExecutionContext> context(
      engine_->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED));
  const DeviceArray memory(static_cast<size_t>(engine_->getDeviceMemorySizeV2()));
  context->setDeviceMemoryV2(memory.data(), engine_->getDeviceMemorySizeV2());
  EXPECT_THAT(logger_.take(),
              HasSubstr("is a GPU's memory, and the engine runs on the CPU: give it memory of the "
                        "host, or of both"));
}

// A program may ask whether a stream is ready, which is an error of CUDA's while it is not.
TEST_F(CudaEngineTest, EarlierErrorsOfTheProgramAreNotOfTheRun) {
  load_model();
  ASSERT_NE(engine_, nullptr);
  const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
  const Memory memory = bind(*context);
  EXPECT_NE(cudaSetDevice(-1), cudaSuccess);
  EXPECT_TRUE(context->enqueueV3(nullptr)) << logger_.take();
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

// Times of a graph are there once it has run.
TEST_F(CudaEngineTest, AGraphIsProfiled) {
  load_model();
  ASSERT_NE(engine_, nullptr);
  const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
  const Memory memory = bind(*context);
  struct Sum final : IProfiler {
    void reportLayerTime(const char*, float ms) noexcept override { all += ms; }
    float all = 0;
  } times;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_TRUE(context->enqueueV3(stream)) << logger_.take();
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  context->setProfiler(&times);
  context->setEnqueueEmitsProfile(false);
  const Graph graph(*context, stream);
  ASSERT_EQ(cudaGraphLaunch(graph, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(times.all, 0);
  EXPECT_TRUE(context->reportToProfiler()) << logger_.take();
  EXPECT_GT(times.all, 0);
  cudaStreamDestroy(stream);
}

// An outer product of n by n floats of which one is taken: little goes in and out.
TEST_F(CudaEngineTest, MemoryThatIsNotThereIsAnErrorOfThatRunAlone) {
  static constexpr int64_t kMost = 1 << 20;  // 4 TiB
  build(
      [](INetworkDefinition& network) -> ITensor& {
        ITensor* column = network.addInput("column", DataType::kFLOAT, Dims{2, {-1, 1}});
        ITensor* row = network.addInput("row", DataType::kFLOAT, Dims{2, {1, -1}});
        IMatrixMultiplyLayer* product = network.addMatrixMultiply(*column, MatrixOperation::kNONE,
                                                                  *row, MatrixOperation::kNONE);
        return *network
                    .addSlice(*product->getOutput(0), Dims{2, {0, 0}}, Dims{2, {1, 1}},
                              Dims{2, {1, 1}})
                    ->getOutput(0);
      },
      [](IOptimizationProfile& profile) {
        for (const auto& [selector, n] : {std::pair{OptProfileSelector::kMIN, int64_t{1}},
                                          {OptProfileSelector::kOPT, int64_t{64}},
                                          {OptProfileSelector::kMAX, kMost}}) {
          profile.setDimensions("column", selector, Dims{2, {n, 1}});
          profile.setDimensions("row", selector, Dims{2, {1, n}});
        }
      });
  ASSERT_NE(engine_, nullptr);
  const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
  ASSERT_NE(context, nullptr) << logger_.take();
  const std::vector<float> ones(kMost, 1.f);
  const DeviceArray numbers(ones.data(), ones.size() * sizeof(float)), y(sizeof(float));
  const auto run = [&](int64_t n) {
    for (const char* name : {"column", "row"}) context->setTensorAddress(name, numbers.data());
    context->setTensorAddress("y", y.data());
    context->setInputShape("column", Dims{2, {n, 1}});
    context->setInputShape("row", Dims{2, {1, n}});
    return context->enqueueV3(nullptr) && cudaStreamSynchronize(nullptr) == cudaSuccess
           && on_host<float>(y.data(), 1)[0] == 1;
  };
  EXPECT_TRUE(run(64)) << logger_.take();
  EXPECT_FALSE(run(kMost));
  EXPECT_THAT(logger_.take(), AllOf(HasSubstr("out of GPU memory"), HasSubstr("are free")));
  EXPECT_TRUE(run(100)) << logger_.take();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// CUDA gives such a process up. Each call says so, and nothing crashes or hangs.
TEST_F(CudaEngineTest, ABrokenDeviceIsOneClearError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run_on_a_broken_device = [&] {
    load_model();
    const std::unique_ptr<IExecutionContext> context(engine_->createExecutionContext());
    Memory memory = bind(*context);
    if (!context->enqueueV3(nullptr)) std::_Exit(1);
    launch_wild_write(nullptr);
    if (cudaDeviceSynchronize() != cudaErrorIllegalAddress) std::_Exit(2);
    for (int i = 0; i < 2; ++i) {
      if (context->enqueueV3(nullptr)) std::_Exit(3);
      const std::string errors = logger_.take();
      std::fputs(errors.c_str(), stderr);
      if (errors.empty()) std::_Exit(4);
    }
    const std::unique_ptr<IExecutionContext> another(engine_->createExecutionContext());
    memory.clear();
    engine_.reset();
    std::_Exit(0);
  };
  EXPECT_EXIT(run_on_a_broken_device(), ::testing::ExitedWithCode(0),
              "enqueueV3: .*illegal memory access");
}

}  // namespace
}  // namespace tenon::testing
