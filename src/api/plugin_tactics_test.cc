// Tactics of plugins: timed when a plan is built, kept in the timing cache and in the plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<int32_t> ran;  // the tactics of the runs, in order

struct Manner {
  std::vector<int32_t> tactics = {7, 3, 5};
  const char* timing_id = "mine";
  int32_t combinations = 1;
};
Manner manner;

// Copies its input; tactic 3 is the fast one.
class Copy final : public IPluginV3,
                   public IPluginV3OneCore,
                   public IPluginV3OneBuild,
                   public IPluginV3OneRuntime {
 public:
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  Copy* clone() noexcept override { return new Copy(*this); }
  const char* getPluginName() const noexcept override { return "Copy"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType* in,
                             int32_t) const noexcept override {
    out[0] = in[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out,
                          int32_t, IExprBuilder&) noexcept override {
    out[0] = in[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t, const DynamicPluginTensorDesc*, int32_t,
                                 int32_t) noexcept override {
    return true;
  }
  int32_t getNbTactics() noexcept override { return static_cast<int32_t>(manner.tactics.size()); }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    std::copy_n(manner.tactics.begin(), count, tactics);
    return 0;
  }
  const char* getTimingCacheID() noexcept override { return manner.timing_id; }
  int32_t getFormatCombinationLimit() noexcept override { return manner.combinations; }
  int32_t setTactic(int32_t tactic) noexcept override {
    tactic_ = tactic;
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t stream) noexcept override {
    ran.push_back(tactic_);
    // Longer than all that one measurement takes, so that each run of it is counted alike.
    if (tactic_ != 3) std::this_thread::sleep_for(std::chrono::milliseconds(12));
    const size_t bytes = static_cast<size_t>(in[0].dims.d[0]) * sizeof(float);
    return cudaMemcpyAsync(outputs[0], inputs[0], bytes, cudaMemcpyDefault, stream);
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return &none_; }

 private:
  int32_t tactic_ = -1;
  PluginFieldCollection none_{0, nullptr};
};

class CopyCreator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection*,
                          TensorRTPhase) noexcept override {
    return new Copy;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return "Copy"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};

class PluginTactics : public ::testing::Test {
 protected:
  PluginTactics() {
    getPluginRegistry()->registerCreator(creator_, "");
    manner = {};
    ran.clear();
    ITensor& y = copy(s_.input("x", {2}));
    y.setName("y");
    s_.network->markOutput(y);
  }
  ~PluginTactics() override { getPluginRegistry()->deregisterCreator(creator_); }

  ITensor& copy(ITensor& tensor) {
    ITensor* x = &tensor;
    Copy plugin;
    return *s_.network->addPluginV3(&x, 1, nullptr, 0, plugin)->getOutput(0);
  }

  std::string build_error() {
    EXPECT_EQ(s_.build(), nullptr);
    return s_.logger.take_errors();
  }

  CopyCreator creator_;
  Session s_;
};

TEST_F(PluginTactics, TheFastestRuns) {
  const auto engine = s_.engine();
  ASSERT_NE(engine, nullptr) << s_.logger.take_errors();
  for (int32_t tactic : manner.tactics) EXPECT_THAT(ran, Contains(tactic));
  ran.clear();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  Floats x{3, 4}, y(2);
  void* bindings[] = {x.data(), y.data()};
  ASSERT_TRUE(context->executeV2(bindings)) << s_.logger.take_errors();
  EXPECT_EQ(y[1], 4);
  EXPECT_THAT(ran, ::testing::ElementsAre(3));
}

TEST_F(PluginTactics, TheTimingCacheKeepsThem) {
  const std::unique_ptr<ITimingCache> cache(s_.config->createTimingCache(nullptr, 0));
  s_.config->setTimingCache(*cache, false);
  ASSERT_NE(s_.build(), nullptr) << s_.logger.take_errors();
  ASSERT_EQ(cache->queryKeys(nullptr, 0), 1);
  ran.clear();
  const auto engine = s_.engine();
  ASSERT_NE(engine, nullptr);
  EXPECT_THAT(ran, IsEmpty());  // known from the cache

  manner.timing_id = "another";
  ASSERT_NE(s_.build(), nullptr);
  EXPECT_EQ(cache->queryKeys(nullptr, 0), 2);
  manner.timing_id = nullptr;  // keeps none
  ran.clear();
  ASSERT_NE(s_.build(), nullptr);
  EXPECT_THAT(ran, Contains(7));
  EXPECT_EQ(cache->queryKeys(nullptr, 0), 2);
}

TEST_F(PluginTactics, EqualLayersAreTimedOnceUnlessTimingCachesAreDisabled) {
  s_.network->markOutput(copy(*s_.network->getOutput(0)));
  const auto runs_of_build = [&] {
    ran.clear();
    EXPECT_NE(s_.build(), nullptr) << s_.logger.take_errors();
    return std::count(ran.begin(), ran.end(), 7);
  };
  const auto once = runs_of_build();
  s_.config->setFlag(BuilderFlag::kDISABLE_TIMING_CACHE);
  EXPECT_EQ(runs_of_build(), 2 * once);
}

TEST_F(PluginTactics, TheFirstIsTakenWithoutTiming) {
  s_.config->setBuilderOptimizationLevel(0);
  const auto engine = s_.engine();
  ASSERT_NE(engine, nullptr) << s_.logger.take_errors();
  EXPECT_THAT(ran, IsEmpty());
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  Floats x{3, 4}, y(2);
  void* bindings[] = {x.data(), y.data()};
  ASSERT_TRUE(context->executeV2(bindings));
  EXPECT_THAT(ran, ::testing::ElementsAre(7));
}

TEST_F(PluginTactics, WrongOnesAreErrors) {
  manner.tactics = {2, 2};
  EXPECT_THAT(build_error(), HasSubstr("plugin \"Copy\" version \"1\": getValidTactics() gives the "
                                       "tactic 2; expected positive numbers, each once"));
  manner.tactics = {0};
  EXPECT_THAT(build_error(), HasSubstr("gives the tactic 0"));
  manner.tactics = {};
  manner.combinations = 0;
  EXPECT_THAT(build_error(), HasSubstr("getFormatCombinationLimit() says 0"));
}

}  // namespace
}  // namespace tenon::testing
