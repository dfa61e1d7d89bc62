// What an application set, it gets back: the same object, which clients compare and delete.
#include "api/cnn_testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does

struct Monitor final : IProgressMonitor {
  void phaseStart(const char*, const char*, int32_t) noexcept override {}
  bool stepComplete(const char*, int32_t) noexcept override { return true; }
  void phaseFinish(const char*) noexcept override {}
};
struct Selector final : IAlgorithmSelector {
  int32_t selectAlgorithms(const IAlgorithmContext&, const IAlgorithm* const*, int32_t,
                           int32_t*) noexcept override {
    return 0;
  }
  void reportAlgorithms(const IAlgorithmContext* const*, const IAlgorithm* const*,
                        int32_t) noexcept override {}
};
struct Calibrator final : IInt8EntropyCalibrator2 {
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void*[], const char*[], int32_t) noexcept override { return false; }
  const void* readCalibrationCache(size_t&) noexcept override { return nullptr; }
  void writeCalibrationCache(const void*, size_t) noexcept override {}
};
struct Profiler final : IProfiler {
  void reportLayerTime(const char*, float) noexcept override {}
};
struct OutputAllocator final : IOutputAllocator {
  void* reallocateOutput(const char*, void*, uint64_t, uint64_t) noexcept override {
    return nullptr;
  }
  void notifyShape(const char*, const Dims&) noexcept override {}
};
struct Allocator final : IGpuAllocator {
  void* allocate(uint64_t, uint64_t, AllocatorFlags) noexcept override { return nullptr; }
  bool deallocate(void*) noexcept override { return true; }
};
struct Listener final : IDebugListener {
  bool processDebugTensor(const void*, TensorLocation, DataType, const Dims&, const char*,
                          cudaStream_t) override {
    return true;
  }
};

// Whether `object` has an error recorder, and gives it back, and then none.
template <class Object> void expect_recorder_kept(Object& object) {
  Recorder recorder;
  object.setErrorRecorder(&recorder);
  EXPECT_EQ(object.getErrorRecorder(), &recorder);
  object.setErrorRecorder(nullptr);
  EXPECT_EQ(object.getErrorRecorder(), nullptr);
}

TEST(Getters, GiveBackErrorRecorders) {
  Session s;
  Cnn().add_to(s, false);
  expect_recorder_kept(*s.builder);
  expect_recorder_kept(*s.network);
  expect_recorder_kept(*s.runtime);
  expect_recorder_kept(*getPluginRegistry());
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  expect_recorder_kept(*engine);
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  expect_recorder_kept(*context);
  const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
  expect_recorder_kept(*inspector);
}

TEST(Getters, GiveBackWhatAConfigurationWasGiven) {
  Session s;
  Monitor monitor;
  s.config->setProgressMonitor(&monitor);
  EXPECT_EQ(s.config->getProgressMonitor(), &monitor);
  Selector selector;
  s.config->setAlgorithmSelector(&selector);
  EXPECT_EQ(s.config->getAlgorithmSelector(), &selector);
  Calibrator calibrator;
  s.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(s.config->getInt8Calibrator(), &calibrator);
  IOptimizationProfile* const profile = s.builder->createOptimizationProfile();
  EXPECT_TRUE(s.config->setCalibrationProfile(profile));
  EXPECT_EQ(s.config->getCalibrationProfile(), profile);
  const std::unique_ptr<ITimingCache> cache(s.config->createTimingCache(nullptr, 0));
  EXPECT_TRUE(s.config->setTimingCache(*cache, false));
  EXPECT_EQ(s.config->getTimingCache(), cache.get());
}

TEST(Getters, GiveBackWhatAContextWasGiven) {
  Session s;
  Cnn().add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(&context->getEngine(), engine.get());
  Profiler profiler;
  context->setProfiler(&profiler);
  EXPECT_EQ(context->getProfiler(), &profiler);
  OutputAllocator output_allocator;
  const char* const output = s.network->getOutput(0)->getName();
  EXPECT_TRUE(context->setOutputAllocator(output, &output_allocator));
  EXPECT_EQ(context->getOutputAllocator(output), &output_allocator);
  Allocator allocator;
  EXPECT_TRUE(context->setTemporaryStorageAllocator(&allocator));
  EXPECT_EQ(context->getTemporaryStorageAllocator(), &allocator);
  Listener listener;
  EXPECT_TRUE(context->setDebugListener(&listener));
  EXPECT_EQ(context->getDebugListener(), &listener);
  const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
  EXPECT_TRUE(inspector->setExecutionContext(context.get()));
  EXPECT_EQ(inspector->getExecutionContext(), context.get());
}

TEST(Getters, GiveTheObjectsThatMadeOthers) {
  Session s;
  EXPECT_EQ(s.builder->getLogger(), &s.logger);
  EXPECT_EQ(s.runtime->getLogger(), &s.logger);
  EXPECT_EQ(&s.network->getBuilder(), s.builder.get());
  EXPECT_EQ(&s.builder->getPluginRegistry(), ::getPluginRegistry());
  EXPECT_EQ(&s.runtime->getPluginRegistry(), ::getPluginRegistry());
  ITensor& x = s.input("x", {2});
  ILayer* const layer = s.network->addIdentity(x);
  EXPECT_EQ(layer->getInput(0), &x);
  EXPECT_EQ(s.network->getInput(0), &x);
  EXPECT_EQ(s.network->getLayer(0), layer);
  s.network->markOutput(*layer->getOutput(0));
  EXPECT_EQ(s.network->getOutput(0), layer->getOutput(0));
}

}  // namespace
}  // namespace tenon::testing
