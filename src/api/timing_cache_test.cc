// Kernels that an application chooses by entries of the timing cache.
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "api/cnn_testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;

// What the log of a build says of a layer, as TensorRT's sample for it reads it.
struct Tuned {
  struct Tactic {
    std::string kernel, hash;
  };
  std::string key, selected;
  std::vector<Tactic> tactics;
};

class TuningLogger final : public ILogger {
 public:
  std::map<std::string, Tuned> layers;
  std::string errors;

 private:
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) errors += text;
    char name[129] = {}, second[129] = {};
    const char* start = std::strstr(text, "Autotuning op ");
    if (start != nullptr
        && std::sscanf(start, "Autotuning op %128[^(](key: %128[^)])", name, second) == 2) {
      layer_ = name;
      layers[layer_] = {second, "", {}};
    } else if (layer_.empty()) {
    } else if (std::sscanf(text, "%*d, %*f, %*f, %*f, %128[^,], %128[^,]", name, second) == 2) {
      layers[layer_].tactics.push_back({name, second});
    } else if (std::sscanf(text, "The selected tactic is (tactic hash, cost(in ms)):%128[^,]", name)
               == 1) {
      layers[layer_].selected = name;
      layer_.clear();
    }
  }
  std::string layer_;
};

TimingCacheKey key_of(const std::string& text) {
  TimingCacheKey key{};
  EXPECT_EQ(text.size(), 2 + 2 * sizeof key.data);
  for (size_t i = 0; i < sizeof key.data; ++i)
    EXPECT_EQ(std::sscanf(text.c_str() + 2 + 2 * i, "%2" SCNx8, &key.data[i]), 1);
  return key;
}

// Two convolutions of one input that are the same but for their names.
class EditableTimingCache : public ::testing::Test {
 protected:
  EditableTimingCache() {
    ITensor& x = *network_->addInput("x", DataType::kFLOAT, dims({1, 32, 28, 28}));
    for (const char* name : {"first", "second"}) {
      IConvolutionLayer* layer =
          network_->addConvolutionNd(x, 32, dims({3, 3}), weights(kernel_), kNone);
      layer->setPaddingNd(dims({1, 1}));
      layer->setName(name);
      network_->markOutput(*layer->getOutput(0));
    }
    config_->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    config_->setFlag(BuilderFlag::kEDITABLE_TIMING_CACHE);
    cache_.reset(config_->createTimingCache(nullptr, 0));
    config_->setTimingCache(*cache_, true);
  }
  // The kernel of each convolution, as the inspector tells it.
  std::map<std::string, std::string> build() {
    std::map<std::string, std::string> kernels;
    const std::unique_ptr<IHostMemory> plan(builder_->buildSerializedNetwork(*network_, *config_));
    if (plan == nullptr) return kernels;
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger_));
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan->data(), plan->size()));
    const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
    const auto json =
        nlohmann::json::parse(inspector->getEngineInformation(LayerInformationFormat::kJSON));
    for (const auto& layer : json["Layers"]) kernels[layer["Name"]] = layer["TacticName"];
    return kernels;
  }

  const Floats kernel_ = numbers(32 * 32 * 9, 0.25f);
  TuningLogger logger_;
  std::unique_ptr<IBuilder> builder_{createInferBuilder(logger_)};
  std::unique_ptr<INetworkDefinition> network_{builder_->createNetworkV2(0)};
  std::unique_ptr<IBuilderConfig> config_{builder_->createBuilderConfig()};
  std::unique_ptr<ITimingCache> cache_;
};

TEST_F(EditableTimingCache, DecidesTheKernelOfOneLayer) {
  auto kernels = build();
  ASSERT_TRUE(logger_.layers.contains("first") && logger_.layers.contains("second"))
      << logger_.errors;
  const Tuned first = logger_.layers["first"], second = logger_.layers["second"];
  EXPECT_NE(first.key, second.key);
  ASSERT_GE(first.tactics.size(), 2u) << "a 3x3 convolution has several kernels";
  EXPECT_EQ(first.selected, first.tactics[0].hash);
  EXPECT_EQ(kernels["first"], first.tactics[0].kernel);
  EXPECT_EQ(cache_->query(key_of(first.key)).tacticHash, std::stoull(first.selected, nullptr, 16));
  std::set<std::string> hashes;
  for (const auto& tactic : first.tactics) EXPECT_TRUE(hashes.insert(tactic.hash).second);

  const auto& last = first.tactics.back();
  ASSERT_TRUE(cache_->update(key_of(first.key), {std::stoull(last.hash, nullptr, 16), 1}));
  logger_.layers.clear();
  // Also in another process.
  const std::unique_ptr<IHostMemory> bytes(cache_->serialize());
  cache_.reset(config_->createTimingCache(bytes->data(), bytes->size()));
  config_->setTimingCache(*cache_, false);
  const std::string second_kernel = kernels["second"];
  kernels = build();
  EXPECT_EQ(kernels["first"], last.kernel) << logger_.errors;
  EXPECT_EQ(kernels["second"], second_kernel);
  EXPECT_TRUE(logger_.layers.empty()) << "nothing is measured again";
  EXPECT_EQ(cache_->query(key_of(first.key)).tacticHash, std::stoull(last.hash, nullptr, 16));
}

TEST_F(EditableTimingCache, RefusesWhatIsNoTacticOfTheLayer) {
  build();
  const TimingCacheKey key = key_of(logger_.layers["first"].key);
  ASSERT_TRUE(cache_->update(key, {12345, 1}));
  EXPECT_TRUE(build().empty());
  EXPECT_THAT(logger_.errors, HasSubstr("the timing cache has the tactic 0x3039 for it"));
  // An entry that was taken out is measured again.
  EXPECT_TRUE(cache_->update(key, {TimingCacheValue::kINVALID_TACTIC_HASH, 0}));
  logger_.layers.clear();
  EXPECT_FALSE(build().empty());
  EXPECT_TRUE(logger_.layers.contains("first"));
  EXPECT_FALSE(cache_->update(TimingCacheKey{}, {1, 1}));
  EXPECT_THAT(logger_.errors, HasSubstr("the timing cache has no such key"));
}

}  // namespace
}  // namespace tenon::testing
