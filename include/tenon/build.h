// What Tenon's builder can be asked beyond IBuilderConfig: for which target and machines, and
// whether to measure.
#ifndef TENON_BUILD_H
#define TENON_BUILD_H

#include <string>
#include <vector>

#include "NvInfer.h"
#include "tenon/extensions.h"

/// What the functions below call.
TENON_EXTENSION bool tenonSetTarget(nvinfer1::IBuilderConfig* config, const char* name) noexcept;
TENON_EXTENSION const char* tenonTarget(const nvinfer1::IBuilderConfig* config) noexcept;
TENON_EXTENSION const char* tenonTargetName(int32_t index) noexcept;
TENON_EXTENSION bool tenonSetDeterministic(nvinfer1::IBuilderConfig* config,
                                           bool deterministic) noexcept;
TENON_EXTENSION bool tenonIsDeterministic(const nvinfer1::IBuilderConfig* config) noexcept;
TENON_EXTENSION bool tenonSetPortable(nvinfer1::IBuilderConfig* config, bool portable) noexcept;
TENON_EXTENSION bool tenonIsPortable(const nvinfer1::IBuilderConfig* config) noexcept;
TENON_EXTENSION bool tenonSetWeightGrowthLimits(nvinfer1::IBuilderConfig* config, size_t layer,
                                                size_t plan) noexcept;
TENON_EXTENSION size_t tenonWeightGrowthLimit(const nvinfer1::IBuilderConfig* config,
                                              bool ofLayer) noexcept;
TENON_EXTENSION bool tenonSetCalibrationSearch(nvinfer1::IBuilderConfig* config, int32_t search,
                                               double share) noexcept;

namespace tenon {

/// The names that set_target() knows, in their order: those of targets that this build or this
/// machine lacks among them.
inline std::vector<std::string> known_targets() {
  std::vector<std::string> names;
  if (tenonTargetName != nullptr)
    for (int32_t i = 0; const char* name = tenonTargetName(i); ++i) names.emplace_back(name);
  return names;
}

/// Builds for the target `name`, one of known_targets(). "" or null brings back the default: what
/// the environment variable TENON_TARGET names, or else "cuda" where this library has it and the
/// machine has a GPU, and "cpu" where not. False, after an error to the builder's logger, when
/// there is no such target here; false without one when `config` is not Tenon's.
inline bool set_target(nvinfer1::IBuilderConfig& config, const char* name) noexcept {
  return tenonSetTarget != nullptr && tenonSetTarget(&config, name);
}

/// The name that was set, "" for the default. It holds until the next call of set_target().
inline const char* target(const nvinfer1::IBuilderConfig& config) noexcept {
  return tenonTarget != nullptr ? tenonTarget(&config) : "";
}

/// A build measures kernels against each other, and what is quickest changes from moment to moment:
/// two plans of one network can differ. A deterministic build measures nothing: the timing cache
/// decides where it knows a layer, else the target's order does. With the same cache, or none, the
/// same network gives the same bytes on this machine; kernels may be slower ones. Off by default.
/// False when `config` is not Tenon's.
inline bool set_deterministic(nvinfer1::IBuilderConfig& config, bool deterministic) noexcept {
  return tenonSetDeterministic != nullptr && tenonSetDeterministic(&config, deterministic);
}

/// Whether builds measure nothing.
inline bool is_deterministic(const nvinfer1::IBuilderConfig& config) noexcept {
  return tenonIsDeterministic != nullptr && tenonIsDeterministic(&config);
}

/// A portable plan also keeps the network: where it is loaded on another machine, or for another
/// target, it is built again there, which takes as long as building does. It is larger by the
/// weights that kernels hold in another form. Off by default. False when `config` is not Tenon's.
inline bool set_portable(nvinfer1::IBuilderConfig& config, bool portable) noexcept {
  return tenonSetPortable != nullptr && tenonSetPortable(&config, portable);
}

/// Whether plans are portable.
inline bool is_portable(const nvinfer1::IBuilderConfig& config) noexcept {
  return tenonIsPortable != nullptr && tenonIsPortable(&config);
}

/// Kernels may hold weights in a form that is larger than the network's: those of Winograd's
/// convolution take up to four times as much for windows of 3x3, and more for others. Limits how
/// many bytes more the weights of any one layer take, and those of all layers together, which are
/// served in the order in which they run; each body of a loop or conditional counts as a plan of
/// its own. Kernels that want more are passed over. SIZE_MAX, the default, is no limit. False when
/// `config` is not Tenon's.
inline bool set_weight_growth_limits(nvinfer1::IBuilderConfig& config, size_t layer,
                                     size_t plan) noexcept {
  return tenonSetWeightGrowthLimits != nullptr && tenonSetWeightGrowthLimits(&config, layer, plan);
}

/// The limit of a layer, in bytes.
inline size_t layer_weight_growth_limit(const nvinfer1::IBuilderConfig& config) noexcept {
  return tenonWeightGrowthLimit != nullptr ? tenonWeightGrowthLimit(&config, true) : SIZE_MAX;
}
/// The limit of all layers together, in bytes.
inline size_t weight_growth_limit(const nvinfer1::IBuilderConfig& config) noexcept {
  return tenonWeightGrowthLimit != nullptr ? tenonWeightGrowthLimit(&config, false) : SIZE_MAX;
}

/// How ranges of INT8 are found in what an IInt8Calibrator's batches give.
enum class CalibrationSearch : int32_t {
  kOfCalibrator = 0,      ///< As its getAlgorithm() says: the default.
  kPercentile = 1,        ///< A share of each tensor's values lies within its range.
  kMeanSquaredError = 2,  ///< Quantized values have the least mean squared error.
};

/// Sets the search. The cache that the calibrator is given is of its own kind all the same.
/// @param share of kPercentile, above 0 and at most 1.
/// False, after an error to the builder's logger, for another share or search; false without one
/// when `config` is not Tenon's.
inline bool set_calibration_search(nvinfer1::IBuilderConfig& config, CalibrationSearch search,
                                   double share = 0.9999) noexcept {
  return tenonSetCalibrationSearch != nullptr
         && tenonSetCalibrationSearch(&config, static_cast<int32_t>(search), share);
}

}  // namespace tenon

#endif  // TENON_BUILD_H
