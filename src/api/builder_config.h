// IBuilderConfig: what the application wants of a build, stored as it was given.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/guard.h"
#include "api/live.h"
#include "api/optimization_profile.h"
#include "api/timing_cache.h"
#include "calibration/range_search.h"
#include "plan/plan.h"

namespace tenon {

/// The settings, with TensorRT's defaults but where a comment says otherwise.
struct BuilderSettings {
  BuilderSettings();
  int32_t timing_iterations = 1;
  nvinfer1::EngineCapability capability = nvinfer1::EngineCapability::kSTANDARD;
  nvinfer1::IInt8Calibrator* calibrator = nullptr;
  nvinfer1::BuilderFlags flags = 1u << static_cast<int>(nvinfer1::BuilderFlag::kTF32);
  /// The application has set kTF32 itself. Where it is there by default, a CPU's float32 stays
  /// exact.
  bool tf32_was_set = false;
  std::unordered_map<const nvinfer1::ILayer*, nvinfer1::DeviceType> devices;
  nvinfer1::DeviceType default_device = nvinfer1::DeviceType::kGPU;
  cudaStream_t profile_stream = nullptr;
  std::vector<std::shared_ptr<const ProfileData>> profiles;
  const nvinfer1::IOptimizationProfile* calibration_profile = nullptr;
  nvinfer1::ProfilingVerbosity verbosity = nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY;
  nvinfer1::IAlgorithmSelector* selector = nullptr;
  nvinfer1::QuantizationFlags quantization_flags = 0;
  std::optional<RangeSearchOptions> range_search;  // in the place of the calibrator's
  nvinfer1::TacticSources tactic_sources =
      1u << static_cast<int>(nvinfer1::TacticSource::kEDGE_MASK_CONVOLUTIONS)
      | 1u << static_cast<int>(nvinfer1::TacticSource::kJIT_CONVOLUTIONS);
  std::shared_ptr<TimingCache> timing_cache;
  const nvinfer1::ITimingCache* timing_cache_view = nullptr;  // that was set; may be deleted
  std::array<size_t, nvinfer1::EnumMax<nvinfer1::MemoryPoolType>()> pools{};
  uint32_t preview_features =
      1u << static_cast<int>(nvinfer1::PreviewFeature::kPROFILE_SHARING_0806);
  int32_t optimization_level = 3;
  nvinfer1::HardwareCompatibilityLevel hardware = nvinfer1::HardwareCompatibilityLevel::kNONE;
  std::vector<std::string> plugins;
  int32_t aux_streams = -1;
  nvinfer1::IProgressMonitor* monitor = nullptr;
  nvinfer1::RuntimePlatform platform = nvinfer1::RuntimePlatform::kSAME_AS_BUILD;
  int32_t tactics = -1;
  nvinfer1::TilingOptimizationLevel tiling = nvinfer1::TilingOptimizationLevel::kNONE;
  int64_t l2_limit = -1;
  std::string remote_tuning;
  std::string target;  // "": the default
  bool portable = false;
  bool deterministic = false;  // build without measuring
  WeightGrowth weight_growth;

  bool flag(nvinfer1::BuilderFlag f) const { return (flags >> static_cast<int>(f) & 1u) != 0; }
  bool calibrates_before_fusion() const {
    const auto bit = static_cast<int>(nvinfer1::QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
    return (quantization_flags >> bit & 1u) != 0;
  }
};

class BuilderConfig final : public nvinfer1::IBuilderConfig,
                            public nvinfer1::apiv::VBuilderConfig,
                            public Live<BuilderConfig, nvinfer1::IBuilderConfig> {
 public:
  explicit BuilderConfig(const Reporter& reporter);
  const BuilderSettings& settings() const { return s_; }
  /// "" for the default; false, after an error, when this machine does not have it.
  bool set_target(const char* name);
  void set_deterministic(bool deterministic) { s_.deterministic = deterministic; }
  void set_portable(bool portable) { s_.portable = portable; }
  /// CalibrationSearch of <tenon/build.h>; false, after an error, for values that it has not.
  bool set_calibration_search(int32_t search, double share);
  void set_weight_growth(const WeightGrowth& limit) { s_.weight_growth = limit; }

  void setAvgTimingIterations(int32_t iterations) noexcept override;
  int32_t getAvgTimingIterations() const noexcept override { return s_.timing_iterations; }
  void setEngineCapability(nvinfer1::EngineCapability capability) noexcept override {
    set(s_.capability, capability);
  }
  nvinfer1::EngineCapability getEngineCapability() const noexcept override { return s_.capability; }
  void setInt8Calibrator(nvinfer1::IInt8Calibrator* calibrator) noexcept override {
    s_.calibrator = calibrator;
  }
  nvinfer1::IInt8Calibrator* getInt8Calibrator() const noexcept override { return s_.calibrator; }
  void setFlags(nvinfer1::BuilderFlags flags) noexcept override;
  nvinfer1::BuilderFlags getFlags() const noexcept override { return s_.flags; }
  void clearFlag(nvinfer1::BuilderFlag flag) noexcept override;
  void setFlag(nvinfer1::BuilderFlag flag) noexcept override;
  bool getFlag(nvinfer1::BuilderFlag flag) const noexcept override {
    return get_bit(s_.flags, flag);
  }
  void setDeviceType(const nvinfer1::ILayer* layer,
                     nvinfer1::DeviceType deviceType) noexcept override;
  nvinfer1::DeviceType getDeviceType(const nvinfer1::ILayer* layer) const noexcept override;
  bool isDeviceTypeSet(const nvinfer1::ILayer* layer) const noexcept override {
    return s_.devices.contains(layer);
  }
  void resetDeviceType(const nvinfer1::ILayer* layer) noexcept override { s_.devices.erase(layer); }
  bool canRunOnDLA(const nvinfer1::ILayer*) const noexcept override { return false; }
  void setDLACore(int32_t dlaCore) noexcept override { ignore_dla_core(dlaCore, reporter_); }
  int32_t getDLACore() const noexcept override { return -1; }
  void setDefaultDeviceType(nvinfer1::DeviceType deviceType) noexcept override {
    set(s_.default_device, deviceType);
  }
  nvinfer1::DeviceType getDefaultDeviceType() const noexcept override { return s_.default_device; }
  void reset() noexcept override;
  void setProfileStream(cudaStream_t stream) noexcept override { s_.profile_stream = stream; }
  cudaStream_t getProfileStream() const noexcept override { return s_.profile_stream; }
  int32_t addOptimizationProfile(const nvinfer1::IOptimizationProfile* profile) noexcept override;
  int32_t getNbOptimizationProfiles() const noexcept override {
    return static_cast<int32_t>(s_.profiles.size());
  }
  void setProfilingVerbosity(nvinfer1::ProfilingVerbosity verbosity) noexcept override {
    set(s_.verbosity, verbosity);
  }
  nvinfer1::ProfilingVerbosity getProfilingVerbosity() const noexcept override {
    return s_.verbosity;
  }
  void setAlgorithmSelector(nvinfer1::IAlgorithmSelector* selector) noexcept override {
    s_.selector = selector;
  }
  nvinfer1::IAlgorithmSelector* getAlgorithmSelector() const noexcept override {
    return s_.selector;
  }
  bool setCalibrationProfile(const nvinfer1::IOptimizationProfile* profile) noexcept override;
  const nvinfer1::IOptimizationProfile* getCalibrationProfile() noexcept override {
    return s_.calibration_profile;
  }
  void setQuantizationFlags(nvinfer1::QuantizationFlags flags) noexcept override {
    s_.quantization_flags = flags;
  }
  nvinfer1::QuantizationFlags getQuantizationFlags() const noexcept override {
    return s_.quantization_flags;
  }
  void clearQuantizationFlag(nvinfer1::QuantizationFlag flag) noexcept override {
    set_bit(s_.quantization_flags, flag, false);
  }
  void setQuantizationFlag(nvinfer1::QuantizationFlag flag) noexcept override {
    set_bit(s_.quantization_flags, flag, true);
  }
  bool getQuantizationFlag(nvinfer1::QuantizationFlag flag) const noexcept override {
    return get_bit(s_.quantization_flags, flag);
  }
  bool setTacticSources(nvinfer1::TacticSources tacticSources) noexcept override;
  nvinfer1::TacticSources getTacticSources() const noexcept override { return s_.tactic_sources; }
  nvinfer1::ITimingCache* createTimingCache(const void* blob, size_t size) const noexcept override;
  bool setTimingCache(const nvinfer1::ITimingCache& cache, bool ignoreMismatch) noexcept override;
  const nvinfer1::ITimingCache* getTimingCache() const noexcept override {
    return TimingCacheView::find(s_.timing_cache_view);
  }
  void setMemoryPoolLimit(nvinfer1::MemoryPoolType pool, size_t poolSize) noexcept override;
  size_t getMemoryPoolLimit(nvinfer1::MemoryPoolType pool) const noexcept override;
  void setPreviewFeature(nvinfer1::PreviewFeature feature, bool enable) noexcept override {
    set_bit(s_.preview_features, feature, enable);
  }
  bool getPreviewFeature(nvinfer1::PreviewFeature feature) const noexcept override {
    return get_bit(s_.preview_features, feature);
  }
  void setBuilderOptimizationLevel(int32_t level) noexcept override;
  int32_t getBuilderOptimizationLevel() const noexcept override { return s_.optimization_level; }
  void setHardwareCompatibilityLevel(nvinfer1::HardwareCompatibilityLevel level) noexcept override {
    set(s_.hardware, level);
  }
  nvinfer1::HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override {
    return s_.hardware;
  }
  void setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept override;
  const char* getPluginToSerialize(int32_t index) const noexcept override;
  int32_t getNbPluginsToSerialize() const noexcept override {
    return static_cast<int32_t>(s_.plugins.size());
  }
  void setMaxAuxStreams(int32_t nbStreams) noexcept override { s_.aux_streams = nbStreams; }
  int32_t getMaxAuxStreams() const noexcept override { return s_.aux_streams; }
  void setProgressMonitor(nvinfer1::IProgressMonitor* monitor) noexcept override {
    s_.monitor = monitor;
  }
  nvinfer1::IProgressMonitor* getProgressMonitor() const noexcept override { return s_.monitor; }
  void setRuntimePlatform(nvinfer1::RuntimePlatform runtimePlatform) noexcept override {
    set(s_.platform, runtimePlatform);
  }
  nvinfer1::RuntimePlatform getRuntimePlatform() const noexcept override { return s_.platform; }
  void setMaxNbTactics(int32_t maxTactics) noexcept override { s_.tactics = maxTactics; }
  int32_t getMaxNbTactics() const noexcept override { return s_.tactics; }
  bool setTilingOptimizationLevel(nvinfer1::TilingOptimizationLevel level) noexcept override {
    return set(s_.tiling, level);
  }
  nvinfer1::TilingOptimizationLevel getTilingOptimizationLevel() const noexcept override {
    return s_.tiling;
  }
  bool setL2LimitForTiling(int64_t size) noexcept override;
  int64_t getL2LimitForTiling() const noexcept override { return s_.l2_limit; }
  bool setRemoteAutoTuningConfig(const char* config) noexcept override;
  const char* getRemoteAutoTuningConfig() const noexcept override {
    return s_.remote_tuning.c_str();
  }

 private:
  template <class Enum>
  bool set(Enum& field, Enum value, const char* where = __builtin_FUNCTION()) {
    return reporter_.run([&] { field = checked(value); }, where);
  }
  template <class Enum>
  void set_bit(uint32_t& bits, Enum bit, bool on, const char* where = __builtin_FUNCTION()) {
    reporter_.run(
        [&] {
          const uint32_t mask = 1u << static_cast<int>(checked(bit));
          bits = on ? bits | mask : bits & ~mask;
        },
        where);
  }
  template <class Enum> bool get_bit(uint32_t bits, Enum bit) const {
    const auto index = static_cast<uint32_t>(bit);
    return index < 32 && (bits >> index & 1u) != 0;
  }

  Reporter reporter_;
  BuilderSettings s_;
};

}  // namespace tenon
