#include "api/builder_config.h"

#include <tenon/build.h>
#include <unistd.h>

#include "backend/targets.h"

namespace tenon {

BuilderSettings::BuilderSettings() {
  // TensorRT's: memory of the device is not limited, and a DLA has its own, which is none of the
  // managed kind on a machine without one.
  constexpr size_t kMiB = size_t{1} << 20;
  const size_t memory =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  const auto set = [&](nvinfer1::MemoryPoolType pool, size_t bytes) {
    pools[static_cast<size_t>(pool)] = bytes;
  };
  set(nvinfer1::MemoryPoolType::kWORKSPACE, memory);
  set(nvinfer1::MemoryPoolType::kTACTIC_DRAM, memory);
  set(nvinfer1::MemoryPoolType::kTACTIC_SHARED_MEMORY, 1024 * kMiB);
  set(nvinfer1::MemoryPoolType::kDLA_MANAGED_SRAM, 0);
  set(nvinfer1::MemoryPoolType::kDLA_LOCAL_DRAM, 1024 * kMiB);
  set(nvinfer1::MemoryPoolType::kDLA_GLOBAL_DRAM, 512 * kMiB);
}

BuilderConfig::BuilderConfig(const Reporter& reporter) : Live(this, this), reporter_(reporter) {
  mImpl = this;
}

void BuilderConfig::reset() noexcept {
  s_ = BuilderSettings();
}

void BuilderConfig::setFlags(nvinfer1::BuilderFlags flags) noexcept {
  const bool had_tf32 = s_.flag(nvinfer1::BuilderFlag::kTF32);
  s_.flags = flags;
  s_.tf32_was_set = s_.flag(nvinfer1::BuilderFlag::kTF32) && (s_.tf32_was_set || !had_tf32);
}

void BuilderConfig::clearFlag(nvinfer1::BuilderFlag flag) noexcept {
  set_bit(s_.flags, flag, false);
  if (flag == nvinfer1::BuilderFlag::kTF32) s_.tf32_was_set = false;
}

void BuilderConfig::setFlag(nvinfer1::BuilderFlag flag) noexcept {
  set_bit(s_.flags, flag, true);
  if (flag == nvinfer1::BuilderFlag::kTF32) s_.tf32_was_set = true;
}

bool BuilderConfig::set_target(const char* name) {
  return reporter_.run(
      [&] {
        const std::string wanted = name != nullptr ? name : "";
        if (!wanted.empty()) target_named(wanted);
        s_.target = wanted;
      },
      "tenon::set_target");
}

bool BuilderConfig::set_calibration_search(int32_t search, double share) {
  return reporter_.run(
      [&] {
        require(share > 0 && share <= 1, "the share {} of values is not above 0 and at most 1",
                share);
        switch (static_cast<CalibrationSearch>(search)) {
          case CalibrationSearch::kOfCalibrator:
            s_.range_search.reset();
            return;
          case CalibrationSearch::kPercentile:
            s_.range_search = {RangeSearch::kPercentile, share, 1};
            return;
          case CalibrationSearch::kMeanSquaredError:
            s_.range_search = {RangeSearch::kMeanSquaredError, 1, 1};
            return;
        }
        fail(ErrorCode::kINVALID_ARGUMENT, "there is no calibration search {}", search);
      },
      "tenon::set_calibration_search");
}

void BuilderConfig::setAvgTimingIterations(int32_t iterations) noexcept {
  reporter_.run([&] {
    require(iterations > 0, "{} iterations are not possible", iterations);
    s_.timing_iterations = iterations;
  });
}

void BuilderConfig::setDeviceType(const nvinfer1::ILayer* layer,
                                  nvinfer1::DeviceType deviceType) noexcept {
  reporter_.run([&] {
    require(layer != nullptr, "the layer is null");
    s_.devices[layer] = checked(deviceType);
  });
}

nvinfer1::DeviceType BuilderConfig::getDeviceType(const nvinfer1::ILayer* layer) const noexcept {
  const auto found = s_.devices.find(layer);
  return found != s_.devices.end() ? found->second : s_.default_device;
}

int32_t BuilderConfig::addOptimizationProfile(
    const nvinfer1::IOptimizationProfile* profile) noexcept {
  return reporter_.guard(-1, [&] {
    const OptimizationProfile* ours = OptimizationProfile::find(profile);
    require(ours != nullptr, "the profile is null or not one of this library");
    const std::string wrong = ours->data()->problem();
    require(wrong.empty(), "the profile is not valid: {}", wrong);
    s_.profiles.push_back(ours->data());
    return getNbOptimizationProfiles() - 1;
  });
}

bool BuilderConfig::setCalibrationProfile(const nvinfer1::IOptimizationProfile* profile) noexcept {
  return reporter_.run([&] {
    require(profile == nullptr || OptimizationProfile::find(profile) != nullptr,
            "the profile is not one of this library");
    s_.calibration_profile = profile;
  });
}

bool BuilderConfig::setTacticSources(nvinfer1::TacticSources tacticSources) noexcept {
  return reporter_.run([&] {
    require(tacticSources >> nvinfer1::EnumMax<nvinfer1::TacticSource>() == 0,
            "{:#x} holds unknown tactic sources", tacticSources);
    s_.tactic_sources = tacticSources;
  });
}

nvinfer1::ITimingCache* BuilderConfig::createTimingCache(const void* blob,
                                                         size_t size) const noexcept {
  return reporter_.guard<nvinfer1::ITimingCache*>(nullptr, [&] {
    require(blob != nullptr || size == 0, "the timing cache is at a null address");
    auto cache = std::make_shared<TimingCache>();
    if (size > 0) cache->read({static_cast<const std::byte*>(blob), size});
    if (s_.flag(nvinfer1::BuilderFlag::kEDITABLE_TIMING_CACHE)) cache->make_editable();
    return new TimingCacheView(reporter_, std::move(cache));
  });
}

bool BuilderConfig::setTimingCache(const nvinfer1::ITimingCache& cache, bool) noexcept {
  return reporter_.run([&] {
    const TimingCacheView* ours = TimingCacheView::find(&cache);
    require(ours != nullptr, "the timing cache is not one of this library");
    s_.timing_cache = ours->cache();
    if (s_.flag(nvinfer1::BuilderFlag::kEDITABLE_TIMING_CACHE)) ours->cache()->make_editable();
    s_.timing_cache_view = &cache;
  });
}

void BuilderConfig::setMemoryPoolLimit(nvinfer1::MemoryPoolType pool, size_t poolSize) noexcept {
  reporter_.run([&] { s_.pools[static_cast<size_t>(checked(pool))] = poolSize; });
}

size_t BuilderConfig::getMemoryPoolLimit(nvinfer1::MemoryPoolType pool) const noexcept {
  return reporter_.guard<size_t>(0, [&] { return s_.pools[static_cast<size_t>(checked(pool))]; });
}

void BuilderConfig::setBuilderOptimizationLevel(int32_t level) noexcept {
  reporter_.run([&] {
    require(level >= 0, "level {} does not exist; 0 to 5 do", level);
    s_.optimization_level = std::min(level, 5);
  });
}

void BuilderConfig::setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept {
  reporter_.run([&] {
    require(nbPaths >= 0 && (nbPaths == 0 || paths != nullptr),
            "{} paths were given without an "
            "array",
            nbPaths);
    std::vector<std::string> plugins;
    for (int32_t i = 0; i < nbPaths; ++i) {
      require(paths[i] != nullptr, "path {} is null", i);
      plugins.emplace_back(paths[i]);
    }
    s_.plugins = std::move(plugins);
  });
}

const char* BuilderConfig::getPluginToSerialize(int32_t index) const noexcept {
  return index >= 0 && index < getNbPluginsToSerialize()
             ? s_.plugins[static_cast<size_t>(index)].c_str()
             : nullptr;
}

bool BuilderConfig::setL2LimitForTiling(int64_t size) noexcept {
  return reporter_.run([&] {
    require(size >= 0, "{} bytes are not possible", size);
    s_.l2_limit = size;
  });
}

bool BuilderConfig::setRemoteAutoTuningConfig(const char* config) noexcept {
  return reporter_.run([&] {
    if (config != nullptr && *config != '\0') not_supported();
    s_.remote_tuning.clear();
  });
}

}  // namespace tenon
