// Execution contexts: what they are given, their life, and threads.
#include <thread>

#include "api/cnn_testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

TEST(Context, NullAndUnknownArgumentsAreErrors) {
  Session s;
  Cnn().add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  const Context context(engine->createExecutionContext());
  float data = 0;
  EXPECT_FALSE(context->setTensorAddress(nullptr, &data));
  EXPECT_FALSE(context->setTensorAddress("nobody", &data));
  EXPECT_FALSE(context->setInputTensorAddress("features", &data));
  EXPECT_FALSE(context->setOutputTensorAddress("image", &data));
  EXPECT_EQ(context->getTensorAddress("nobody"), nullptr);
  EXPECT_EQ(context->getTensorShape(nullptr).nbDims, -1);
  EXPECT_EQ(context->inferShapes(3, nullptr), -1);
  EXPECT_FALSE(context->setOutputAllocator("image", nullptr));
  EXPECT_FALSE(context->reportToProfiler());
  struct Listener : IDebugListener {
    bool processDebugTensor(const void*, TensorLocation, DataType, const Dims&, const char*,
                            cudaStream_t) override {
      return false;
    }
  } listener;
  EXPECT_TRUE(context->setDebugListener(&listener));
  EXPECT_EQ(context->getDebugListener(), &listener);
  EXPECT_TRUE(context->setAllTensorsDebugState(true));
  EXPECT_FALSE(context->getDebugState("image"));
  EXPECT_TRUE(context->setDebugListener(nullptr));
  EXPECT_FALSE(context->setTensorDebugState("image", true));
  context->setName(nullptr);
  EXPECT_STREQ(context->getName(), "");
  context->setName("main");
  EXPECT_STREQ(context->getName(), "main");
  EXPECT_EQ(engine->createExecutionContext(static_cast<ExecutionContextAllocationStrategy>(9)),
            nullptr);
  EXPECT_EQ(engine->createExecutionContext(static_cast<IRuntimeConfig*>(nullptr)), nullptr);
}

TEST(Context, DeviceMemoryMayBeTheCallers) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  const Context context(engine->createExecutionContextWithoutDeviceMemory());
  const size_t bytes = context->updateDeviceMemorySizeForShapes();
  EXPECT_LE(bytes, static_cast<size_t>(engine->getDeviceMemorySizeV2()));
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, bytes + 64), cudaSuccess);
  context->setDeviceMemoryV2(memory, static_cast<int64_t>(bytes));
  const CudaStream stream;
  expect_right(cnn, *context, 1, 6, 4, stream.stream);
  cudaFree(memory);
}

TEST(Context, DeviceMemoryMayBeTheCallersWhateverTheStrategy) {
  using Strategy = ExecutionContextAllocationStrategy;
  Session s;
  const Cnn cnn;
  cnn.add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  add_profile(s, {1, 2, 20, 20}, {1, 2, 20, 20}, {1, 2, 32, 32});
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  const int64_t bytes = engine->getDeviceMemorySizeV2();
  EXPECT_EQ(bytes, std::max(engine->getDeviceMemorySizeForProfileV2(0),
                            engine->getDeviceMemorySizeForProfileV2(1)));
  ASSERT_GT(bytes, 64);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, static_cast<size_t>(bytes)), cudaSuccess);
  const CudaStream stream;
  for (const Strategy strategy :
       {Strategy::kSTATIC, Strategy::kON_PROFILE_CHANGE, Strategy::kUSER_MANAGED}) {
    SCOPED_TRACE(static_cast<int>(strategy));
    const Context context(engine->createExecutionContext(strategy));
    ASSERT_NE(context, nullptr);
    if (strategy != Strategy::kUSER_MANAGED) expect_right(cnn, *context, 1, 8, 8, stream.stream);
    for (const int32_t profile : {0, 1, 0}) {
      ASSERT_TRUE(context->setOptimizationProfileAsync(profile, stream.stream));
      const int extent = profile == 0 ? 16 : 32;
      context->setDeviceMemoryV2(memory, engine->getDeviceMemorySizeForProfileV2(profile));
      expect_right(cnn, *context, 1, extent, extent, stream.stream);
    }
    context->setDeviceMemoryV2(memory, 64);
    EXPECT_EQ(s.logger.take_errors(), "");
    EXPECT_FALSE(context->enqueueV3(stream.stream));
    EXPECT_THAT(s.logger.take_errors(), HasSubstr("bytes of device memory; it was given 64"));
    context->setDeviceMemoryV2(memory, -1);
    EXPECT_THAT(s.logger.take_errors(), HasSubstr("setDeviceMemoryV2"));
  }
  const Context without(engine->createExecutionContext(Strategy::kUSER_MANAGED));
  Floats x = numbers(2 * 8 * 8, 0.5f), y(3 * 4 * 4);
  without->setInputShape("image", dims({1, 2, 8, 8}));
  without->setTensorAddress("image", x.data());
  without->setTensorAddress("features", y.data());
  EXPECT_FALSE(without->enqueueV3(stream.stream));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("call setDeviceMemory first"));
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(Context, TakesAuxiliaryStreams) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, false);
  s.config->setMaxAuxStreams(3);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(engine->getNbAuxStreams(), 0) << "of a chain of layers";
  const Context context(engine->createExecutionContext());
  CudaStream streams[2];
  cudaStream_t list[] = {streams[0].stream, streams[1].stream};
  context->setAuxStreams(list, 2);
  context->setAuxStreams(nullptr, 0);
  EXPECT_EQ(s.logger.take_errors(), "");
  context->setAuxStreams(nullptr, 2);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("setAuxStreams: 2 streams at null"));
  context->setAuxStreams(list, -1);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("setAuxStreams: -1 streams"));
  expect_right(cnn, *context, 1, 6, 4, streams[0].stream);
}

TEST(Context, ProfilerOutputAllocatorAndEvent) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  const Context context(engine->createExecutionContext());
  struct Profiler final : IProfiler {
    void reportLayerTime(const char* name, float) noexcept override { names.emplace_back(name); }
    std::vector<std::string> names;
  } profiler;
  struct Allocator final : IOutputAllocator {
    void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                                cudaStream_t) override {
      memory.resize(size / sizeof(float));
      return memory.data();
    }
    void notifyShape(const char*, const nvinfer1::Dims& d) noexcept override { shape = list(d); }
    Floats memory;
    List shape;
  } allocator;
  context->setProfiler(&profiler);
  EXPECT_EQ(context->getProfiler(), &profiler);
  ASSERT_TRUE(context->setOutputAllocator("features", &allocator));
  EXPECT_EQ(context->getOutputAllocator("features"), &allocator);
  const Floats x = numbers(2 * 6 * 4, 0.5f);
  context->setInputTensorAddress("image", x.data());
  cudaEvent_t consumed = nullptr;
  cudaEventCreate(&consumed);
  EXPECT_TRUE(context->setInputConsumedEvent(consumed));
  const CudaStream stream;
  ASSERT_TRUE(context->enqueueV3(stream.stream)) << s.logger.take_errors();
  EXPECT_EQ(cudaEventSynchronize(consumed), cudaSuccess);
  cudaStreamSynchronize(stream.stream);
  EXPECT_EQ(allocator.shape, (List{1, 3, 3, 2}));
  EXPECT_THAT(allocator.memory, Pointwise(::testing::FloatNear(1e-4f), cnn.expected(x, 1, 6, 4)));
  EXPECT_FALSE(profiler.names.empty());
  cudaEventDestroy(consumed);
}

TEST(Context, ShapeInputsOf8xAreSetByValue) {
  Session s;
  ITensor& x = s.input("x", {2, 6});
  ITensor& size = s.input("size", {2}, DataType::kINT64);
  IShuffleLayer* reshape = s.network->addShuffle(x);
  reshape->setInput(1, size);
  reshape->getOutput(0)->setName("y");
  s.network->markOutput(*reshape->getOutput(0));
  IOptimizationProfile* p = s.builder->createOptimizationProfile();
  const int64_t low[] = {1, 1}, usual[] = {3, 4}, high[] = {12, 12};
  p->setShapeValuesV2("size", OptProfileSelector::kMIN, low, 2);
  p->setShapeValuesV2("size", OptProfileSelector::kOPT, usual, 2);
  p->setShapeValuesV2("size", OptProfileSelector::kMAX, high, 2);
  s.config->addOptimizationProfile(p);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  EXPECT_TRUE(engine->isShapeInferenceIO("size"));
  EXPECT_EQ(engine->getTensorLocation("size"), TensorLocation::kHOST);
  EXPECT_EQ(engine->getProfileTensorValues("size", 0, OptProfileSelector::kOPT)[1], 4);
  EXPECT_EQ(engine->getProfileTensorValuesV2("size", 0, OptProfileSelector::kMAX)[0], 12);
  const Context context(engine->createExecutionContext());
  EXPECT_FALSE(context->allInputShapesSpecified());
  const int32_t wanted[] = {4, 3};
  ASSERT_TRUE(context->setInputShapeBinding(engine->getBindingIndex("size"), wanted));
  EXPECT_EQ(list(context->getTensorShape("y")), (List{4, 3}));
  const Floats in = numbers(12, 1);
  Floats out(12, -9);
  context->setInputTensorAddress("x", in.data());
  context->setTensorAddress("y", out.data());
  ASSERT_TRUE(context->enqueueV3(nullptr)) << s.logger.take_errors();
  cudaStreamSynchronize(nullptr);
  EXPECT_EQ(out, in);
}

TEST(Life, ObjectsMayDieInAnyOrder) {
  CapturingLogger logger;
  const Cnn cnn;
  auto s = std::make_unique<Session>();
  cnn.add_to(*s, true);
  add_profile(*s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  auto engine = s->engine();
  ASSERT_NE(engine, nullptr);
  s->builder.reset();
  s->network.reset();
  s->config.reset();
  s->runtime.reset();
  Context context(engine->createExecutionContext());
  std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
  EXPECT_TRUE(inspector->setExecutionContext(context.get()));
  EXPECT_EQ(&context->getEngine(), engine.get());
  engine.reset();
  EXPECT_EQ(context->getEngine().getNbIOTensors(), 2);
  const CudaStream stream;
  expect_right(cnn, *context, 1, 8, 8, stream.stream);
  EXPECT_NE(inspector->getEngineInformation(LayerInformationFormat::kJSON), nullptr);
  context.reset();
  EXPECT_NE(inspector->getEngineInformation(LayerInformationFormat::kJSON), nullptr);
  inspector.reset();
}

TEST(Threads, EachMayHaveItsContext) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      const Context context(engine->createExecutionContext());
      const CudaStream stream;
      for (int i = 0; i < 20; ++i)
        expect_right(cnn, *context, 1 + (i + t) % 2, 4 + 2 * (i % 5), 8, stream.stream);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
}

// The first thread waits inside the run until the second has tried to enter.
TEST(Threads, OneContextRefusesASecondThread) {
  Session s;
  Cnn().add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  const Context context(engine->createExecutionContext());
  struct Allocator final : IOutputAllocator {
    void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                                cudaStream_t) override {
      void* others[] = {nullptr, nullptr};
      std::thread([&] { second_entered = context->executeV2(others); }).join();
      memory.resize(size);
      return memory.data();
    }
    void notifyShape(const char*, const nvinfer1::Dims&) noexcept override {}
    IExecutionContext* context = nullptr;
    bool second_entered = true;
    std::vector<char> memory;
  } allocator;
  Floats x = numbers(2 * 6 * 4, 0.5f), y(18);
  void* bindings[] = {x.data(), y.data()};
  allocator.context = context.get();
  context->setOutputAllocator("features", &allocator);
  EXPECT_TRUE(context->executeV2(bindings));
  EXPECT_FALSE(allocator.second_entered);
  EXPECT_EQ(context->getTensorAddress("image"), x.data());  // not the second thread's
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("two threads"));
}

}  // namespace
}  // namespace tenon::testing
