#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/build.h>

#include <functional>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BuilderConfig, SettingsAreKept) {
  Session s;
  IBuilderConfig& c = *s.config;
  EXPECT_EQ(c.getFlags(), 1u << static_cast<int>(BuilderFlag::kTF32));  // as TensorRT's
  c.setFlag(BuilderFlag::kFP16);
  EXPECT_TRUE(c.getFlag(BuilderFlag::kFP16));
  c.clearFlag(BuilderFlag::kFP16);
  EXPECT_FALSE(c.getFlag(BuilderFlag::kFP16));
  c.setFlags(5);
  EXPECT_EQ(c.getFlags(), 5u);
  c.setQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  EXPECT_EQ(c.getQuantizationFlags(), 1u);
  EXPECT_GT(c.getMemoryPoolLimit(MemoryPoolType::kWORKSPACE), 0u);
  c.setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 1 << 20);
  EXPECT_EQ(c.getMemoryPoolLimit(MemoryPoolType::kWORKSPACE), 1u << 20);
  EXPECT_EQ(c.getBuilderOptimizationLevel(), 3);
  c.setBuilderOptimizationLevel(1);
  EXPECT_EQ(c.getBuilderOptimizationLevel(), 1);
  c.setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  EXPECT_EQ(c.getProfilingVerbosity(), ProfilingVerbosity::kDETAILED);
  c.setAvgTimingIterations(4);
  EXPECT_EQ(c.getAvgTimingIterations(), 4);
  EXPECT_TRUE(c.setTacticSources(3));
  EXPECT_EQ(c.getTacticSources(), 3u);
  EXPECT_FALSE(c.setTacticSources(1u << 30));
  c.setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
  EXPECT_TRUE(c.getPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03));
  c.setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS);
  EXPECT_EQ(c.getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kAMPERE_PLUS);
  c.setMaxAuxStreams(2);
  EXPECT_EQ(c.getMaxAuxStreams(), 2);
  c.setMaxNbTactics(9);
  EXPECT_EQ(c.getMaxNbTactics(), 9);
  EXPECT_TRUE(c.setTilingOptimizationLevel(TilingOptimizationLevel::kFAST));
  EXPECT_EQ(c.getTilingOptimizationLevel(), TilingOptimizationLevel::kFAST);
  EXPECT_TRUE(c.setL2LimitForTiling(100));
  EXPECT_EQ(c.getL2LimitForTiling(), 100);
  c.setEngineCapability(EngineCapability::kSAFETY);
  EXPECT_EQ(c.getEngineCapability(), EngineCapability::kSAFETY);
  const char* plugins[] = {"a.so", "b.so"};
  c.setPluginsToSerialize(plugins, 2);
  EXPECT_EQ(c.getNbPluginsToSerialize(), 2);
  EXPECT_STREQ(c.getPluginToSerialize(1), "b.so");
  EXPECT_EQ(c.getPluginToSerialize(2), nullptr);
  c.setMaxWorkspaceSize(7);  // 8.x
  EXPECT_EQ(c.getMaxWorkspaceSize(), 7u);
  c.reset();
  EXPECT_EQ(c.getNbPluginsToSerialize(), 0);
  EXPECT_EQ(c.getEngineCapability(), EngineCapability::kSTANDARD);
  EXPECT_TRUE(c.getFlag(BuilderFlag::kTF32));
}

TEST(BuilderConfig, MemoryPoolsHaveTensorRTsLimits) {
  Session s;
  const auto mebibytes = [&](MemoryPoolType pool) {
    return s.config->getMemoryPoolLimit(pool) >> 20;
  };
  EXPECT_EQ(mebibytes(MemoryPoolType::kTACTIC_SHARED_MEMORY), 1024u);
  EXPECT_EQ(mebibytes(MemoryPoolType::kDLA_MANAGED_SRAM), 0u) << "there is no DLA";
  EXPECT_EQ(mebibytes(MemoryPoolType::kDLA_LOCAL_DRAM), 1024u);
  EXPECT_EQ(mebibytes(MemoryPoolType::kDLA_GLOBAL_DRAM), 512u);
  EXPECT_EQ(mebibytes(MemoryPoolType::kTACTIC_DRAM), mebibytes(MemoryPoolType::kWORKSPACE));
}

// NvInfer.h: setDLACore() does nothing where getNbDLACores() is 0.
TEST(BuilderConfig, CoresOfADlaThatIsNotThereAreNotChosen) {
  Session s;
  s.logger.take_warnings();
  ASSERT_EQ(s.builder->getNbDLACores(), 0);
  s.config->setDLACore(-1);
  EXPECT_EQ(s.logger.take_warnings(), "");
  s.config->setDLACore(1);
  EXPECT_EQ(s.config->getDLACore(), -1);
  EXPECT_THAT(s.logger.take_warnings(), HasSubstr("there is no DLA, and core 1 is not chosen"));
  ASSERT_EQ(s.runtime->getNbDLACores(), 0);
  s.runtime->setDLACore(0);
  EXPECT_EQ(s.runtime->getDLACore(), -1);
  EXPECT_THAT(s.logger.take_warnings(), HasSubstr("core 0"));
  EXPECT_EQ(s.logger.take_errors(), "");
}

TEST(BuilderConfig, NonsenseIsRefused) {
  Session s;
  IBuilderConfig& c = *s.config;
  s.logger.take_errors();
  c.setFlag(static_cast<BuilderFlag>(31));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("setFlag"));
  c.setMemoryPoolLimit(static_cast<MemoryPoolType>(77), 1);
  EXPECT_EQ(c.getMemoryPoolLimit(static_cast<MemoryPoolType>(-1)), 0u);
  c.setAvgTimingIterations(0);
  EXPECT_EQ(c.getAvgTimingIterations(), 1);
  c.setBuilderOptimizationLevel(-1);
  EXPECT_EQ(c.getBuilderOptimizationLevel(), 3);
  c.setPluginsToSerialize(nullptr, 3);
  EXPECT_EQ(c.addOptimizationProfile(nullptr), -1);
  c.setDeviceType(nullptr, DeviceType::kDLA);
  EXPECT_EQ(c.createTimingCache("nonsense", 8), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("createTimingCache"));
  EXPECT_EQ(c.createTimingCache(nullptr, 8), nullptr);
}

TEST(OptimizationProfile, RangesAreChecked) {
  Session s;
  IOptimizationProfile* p = s.builder->createOptimizationProfile();
  EXPECT_TRUE(p->setDimensions("x", OptProfileSelector::kMIN, dims({1, 3})));
  EXPECT_FALSE(p->isValid());
  EXPECT_EQ(s.config->addOptimizationProfile(p), -1);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("lacks some of kMIN, kOPT and kMAX"));
  EXPECT_TRUE(p->setDimensions("x", OptProfileSelector::kMAX, dims({4, 3})));
  EXPECT_FALSE(p->setDimensions("x", OptProfileSelector::kOPT, dims({5, 3})));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("exceed the maximum"));
  EXPECT_FALSE(p->setDimensions("x", OptProfileSelector::kOPT, dims({2})));
  EXPECT_FALSE(p->setDimensions("x", OptProfileSelector::kOPT, dims({-1, 3})));
  EXPECT_FALSE(p->setDimensions(nullptr, OptProfileSelector::kOPT, dims({2, 3})));
  EXPECT_FALSE(p->setDimensions("x", static_cast<OptProfileSelector>(3), dims({2, 3})));
  EXPECT_TRUE(p->setDimensions("x", OptProfileSelector::kOPT, dims({2, 3})));
  EXPECT_TRUE(p->isValid());
  EXPECT_EQ(list(p->getDimensions("x", OptProfileSelector::kOPT)), (List{2, 3}));
  EXPECT_EQ(p->getDimensions("y", OptProfileSelector::kOPT).nbDims, -1);
  EXPECT_EQ(s.config->addOptimizationProfile(p), 0);
  EXPECT_EQ(s.config->getNbOptimizationProfiles(), 1);
  const int32_t values32[] = {1, 2};
  const int64_t wide[] = {3, 4};
  EXPECT_TRUE(p->setShapeValues("s", OptProfileSelector::kMIN, values32, 2));
  EXPECT_TRUE(p->setShapeValuesV2("s", OptProfileSelector::kMAX, wide, 2));
  EXPECT_FALSE(p->setShapeValues("s", OptProfileSelector::kOPT, nullptr, 2));
  EXPECT_EQ(p->getNbShapeValues("s"), 2);
  EXPECT_EQ(p->getNbShapeValues("x"), -1);
  EXPECT_EQ(p->getShapeValues("s", OptProfileSelector::kMAX)[1], 4);
  EXPECT_EQ(p->getShapeValuesV2("s", OptProfileSelector::kMIN)[1], 2);
  EXPECT_EQ(p->getShapeValues("s", OptProfileSelector::kOPT), nullptr);
  EXPECT_TRUE(p->setExtraMemoryTarget(0.5f));
  EXPECT_FALSE(p->setExtraMemoryTarget(2));
  EXPECT_EQ(p->getExtraMemoryTarget(), 0.5f);
}

TEST(TimingCache, IsSharedWithTheConfigurationAndOutlivesIt) {
  Session s;
  std::unique_ptr<ITimingCache> cache(s.config->createTimingCache(nullptr, 0));
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(s.config->getTimingCache(), nullptr);
  EXPECT_TRUE(s.config->setTimingCache(*cache, false));
  EXPECT_EQ(s.config->getTimingCache(), cache.get());
  const std::unique_ptr<IHostMemory> blob(cache->serialize());
  const std::unique_ptr<ITimingCache> again(
      s.config->createTimingCache(blob->data(), blob->size()));
  ASSERT_NE(again, nullptr);
  EXPECT_TRUE(again->combine(*cache, false));
  EXPECT_TRUE(cache->combine(*cache, false));
  EXPECT_EQ(cache->queryKeys(nullptr, 0), 0);
  EXPECT_EQ(cache->queryKeys(nullptr, 1), -1);
  EXPECT_EQ(cache->query(TimingCacheKey{}).tacticHash, TimingCacheValue::kINVALID_TACTIC_HASH);
  EXPECT_FALSE(cache->update(TimingCacheKey{}, {1, 1}));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("the timing cache is not editable"));
  cache.reset();
  EXPECT_EQ(s.config->getTimingCache(), nullptr);
  s.config.reset();
  EXPECT_TRUE(again->reset());
}

TEST(Build, WhatIsNotSupportedYetIsAnErrorOrAWarning) {
  Session s;
  s.network->markOutput(*s.network->addIdentity(s.input("x", {4}))->getOutput(0));
  const auto error_with = [&](const std::function<void()>& change) {
    change();
    EXPECT_EQ(s.build(), nullptr);
    EXPECT_FALSE(s.builder->isNetworkSupported(*s.network, *s.config));
    s.config->reset();
    return s.logger.take_errors();
  };
  EXPECT_THAT(error_with([&] { s.config->setFlag(BuilderFlag::kSAFETY_SCOPE); }),
              HasSubstr("BuilderFlag::kSAFETY_SCOPE is not supported yet"));
  EXPECT_THAT(error_with([&] { s.config->setDefaultDeviceType(DeviceType::kDLA); }),
              HasSubstr("kDLA"));
  s.network->getLayer(0)->setPrecision(DataType::kFP8);
  EXPECT_THAT(error_with([&] { s.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS); }),
              HasSubstr("must run in float8_e4m3fn"));
  s.network->getLayer(0)->resetPrecision();
  EXPECT_TRUE(set_target(*s.config, "cpu"));
  s.config->setFlag(BuilderFlag::kFP16);
  s.logger.take_warnings();
  EXPECT_NE(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_warnings(), HasSubstr("the target cpu is no faster in float16"));
  EXPECT_TRUE(s.builder->isNetworkSupported(*s.network, *s.config));
  s.network->getInput(0)->setAllowedFormats(1u << static_cast<int>(TensorFormat::kCHW32));
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("kLINEAR"));
}

TEST(Build, NeedsAnOutputAndObjectsOfThisLibrary) {
  Session s, other;
  s.network->addIdentity(s.input("x", {4}));
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("no output"));
  INetworkDefinition* gone = other.network.release();
  delete gone;
  EXPECT_EQ(s.builder->buildSerializedNetwork(*gone, *s.config), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("was deleted"));
}

TEST(Builder, AnswersForItself) {
  Session s;
  EXPECT_EQ(s.builder->getLogger(), &s.logger);
  EXPECT_EQ(::getLogger(), &s.logger);
  EXPECT_EQ(s.builder->getNbDLACores(), 0);
  EXPECT_FALSE(s.builder->setMaxThreads(0));
  EXPECT_GT(s.builder->getMaxThreads(), 0);
  EXPECT_EQ(&s.builder->getPluginRegistry(), ::getPluginRegistry());
  EXPECT_EQ(&s.network->getBuilder(), s.builder.get());
  EXPECT_EQ(s.builder->getMaxBatchSize(), 1);
  s.builder->setMaxBatchSize(16);
  EXPECT_EQ(s.builder->getMaxBatchSize(), 16);
}

TEST(Builder, RefusesHeadersOfAnotherMajorVersion) {
  CapturingLogger logger;
  EXPECT_EQ(createInferBuilder_INTERNAL(&logger, 8601), nullptr);
  EXPECT_THAT(logger.take_errors(), HasSubstr("8601"));
  // The logger of 11.x cannot be called: its slots are others.
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(createInferRuntime_INTERNAL(&logger, 110400), nullptr);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("110400"), HasSubstr("-DTENON_TRT_API=11")));
  EXPECT_EQ(logger.take_errors(), "");
  EXPECT_EQ(createInferBuilder_INTERNAL(nullptr, TENON_TRT_ABI_VERSION), nullptr);
  EXPECT_EQ(createInferRefitter_INTERNAL(nullptr, &logger, TENON_TRT_ABI_VERSION), nullptr);
  EXPECT_THAT(logger.take_errors(), HasSubstr("the engine is null"));
  EXPECT_EQ(::getLogger(), nullptr);
  // NVIDIA's first header of this major passes 100000.
  void* builder = createInferBuilder_INTERNAL(&logger, 100000);
  ASSERT_NE(builder, nullptr);
  delete static_cast<IBuilder*>(builder);
}

TEST(ErrorRecorder, IsCountedInheritedAndGivenShortTexts) {
  Recorder recorder;
  {
    Session s;
    s.builder->setErrorRecorder(&recorder);
    EXPECT_EQ(s.builder->getErrorRecorder(), &recorder);
    const std::unique_ptr<INetworkDefinition> network(s.builder->createNetworkV2(0));
    EXPECT_EQ(network->getErrorRecorder(), &recorder);
    EXPECT_EQ(recorder.references, 2);
    const std::string name(300, 'n');
    network->addInput(name.c_str(), DataType::kFLOAT, dims({1}));
    network->addInput(name.c_str(), DataType::kFLOAT, dims({1}));
    ASSERT_EQ(recorder.getNbErrors(), 1);
    EXPECT_EQ(recorder.getErrorCode(0), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_EQ(recorder.list[0].second.size(), IErrorRecorder::kMAX_DESC_LENGTH);
    EXPECT_THAT(s.logger.take_errors(), HasSubstr(name));  // the logger gets all of it
  }
  EXPECT_EQ(recorder.references, 0);
}

TEST(ProgressMonitor, IsToldAndMayCancel) {
  struct Monitor final : IProgressMonitor {
    void phaseStart(const char* phase, const char*, int32_t) noexcept override {
      open.push_back(phase);
    }
    bool stepComplete(const char*, int32_t) noexcept override {
      ++steps;
      return !cancel;
    }
    void phaseFinish(const char* phase) noexcept override { std::erase(open, phase); }
    std::vector<std::string> open;
    int steps = 0;
    bool cancel = false;
  } monitor;
  Session s;
  s.network->markOutput(
      *s.network->addActivation(s.input("x", {4}), ActivationType::kRELU)->getOutput(0));
  s.config->setProgressMonitor(&monitor);
  EXPECT_NE(s.build(), nullptr);
  EXPECT_GT(monitor.steps, 0);
  EXPECT_TRUE(monitor.open.empty());
  monitor.cancel = true;
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_TRUE(monitor.open.empty());
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("cancel"));
}

}  // namespace
}  // namespace tenon::testing
