#include "api/calibration.h"

#include <algorithm>
#include <cmath>

#include "api/optimization_profile.h"
#include "builder/fixed_extents.h"
#include "calibration/calibrate.h"
#include "calibration/calibration_cache.h"
#include "calibration/insert_quantization.h"
#include "calibration/range_search.h"
#include "network/clone.h"
#include "ops/dequantize.h"
#include "ops/quantize.h"
#include "optimize/optimize.h"

namespace tenon {
namespace {

using nvinfer1::CalibrationAlgoType;

float largest_of(const nvinfer1::ITensor& tensor) {
  return std::max(std::abs(tensor.getDynamicRangeMin()), std::abs(tensor.getDynamicRangeMax()));
}

// A few of the names, for a message.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += fmt::format("{}'{}'", i > 0 ? ", " : "", names[i]);
  return names.size() > kShown ? text + ", …" : text;
}

void check_ranges(const NetworkDefinition& definition) {
  for (const auto& value : definition.network().values()) {
    const NetworkTensor& tensor = definition.tensor_view(*value);
    require(!tensor.dynamicRangeIsSet() || largest_of(tensor) > 0,
            "tensor '{}': its dynamic range [0, 0] is empty; call setDynamicRange with one that "
            "holds its values",
            value->name);
  }
}

RangeSearchOptions search_of(nvinfer1::IInt8Calibrator& calibrator,
                             const BuilderSettings& settings) {
  if (settings.range_search) return *settings.range_search;
  RangeSearchOptions options;
  switch (checked(calibrator.getAlgorithm())) {
    case CalibrationAlgoType::kENTROPY_CALIBRATION:
      options.search = RangeSearch::kEntropy;
      break;
    case CalibrationAlgoType::kENTROPY_CALIBRATION_2:
      options.search = RangeSearch::kEntropy2;
      break;
    case CalibrationAlgoType::kMINMAX_CALIBRATION:
      options.search = RangeSearch::kMinMax;
      break;
    case CalibrationAlgoType::kLEGACY_CALIBRATION:
      options.search = RangeSearch::kLegacy;
      if (auto* legacy = dynamic_cast<nvinfer1::v_1_0::IInt8LegacyCalibrator*>(&calibrator)) {
        options.quantile = legacy->getQuantile();
        options.regression_cutoff = legacy->getRegressionCutoff();
        for (const double share : {options.quantile, options.regression_cutoff})
          require(share >= 0 && share <= 1,
                  "the calibrator's quantile {} and regression cutoff {} must lie between 0 and 1",
                  options.quantile, options.regression_cutoff);
      }
      break;
  }
  return options;
}

std::optional<ProfileRequest> calibration_profile(const BuilderSettings& settings,
                                                  const NetworkDefinition& definition,
                                                  const BuildOptions& options, int32_t batch) {
  if (definition.hasImplicitBatchDimension()) {
    ProfileRequest profile = options.profiles.front();
    for (auto& [name, range] : profile.inputs) {
      (*range.opt)[0] = batch;
      range.min = range.max = range.opt;
    }
    return profile;
  }
  std::optional<ProfileRequest> profile;
  const auto* ours = OptimizationProfile::find(settings.calibration_profile);
  if (ours != nullptr)
    profile = ours->data()->request();
  else if (!options.profiles.empty())
    profile = options.profiles.front();
  if (!profile) return profile;
  // Batches have the optimum's shape.
  for (auto& [name, range] : profile->inputs) {
    if (range.opt) range.min = range.max = range.opt;
    if (!range.opt_values.empty()) range.min_values = range.max_values = range.opt_values;
  }
  return profile;
}

// Runs the calibrator's batches, in the shapes of the calibration profile, and gives it the cache.
CalibrationCache calibrate(nvinfer1::IInt8Calibrator& calibrator, const Network& network,
                           const NetworkDefinition& definition, const BuilderSettings& settings,
                           const Target& target, const BuildOptions& options) {
  const RangeSearchOptions search = search_of(calibrator, settings);
  const int32_t batch = calibrator.getBatchSize();
  require(batch > 0, "the calibrator's getBatchSize() gave {}: expected 1 or more", batch);
  CalibrationOptions calibration;
  calibration.profile = calibration_profile(settings, definition, options, batch);
  calibration.observe_all = settings.calibrates_before_fusion();
  calibration.progress = options.progress;
  calibration.log = options.log;
  std::vector<const char*> names;
  for (const Value* input : network.inputs()) names.push_back(input->name.c_str());
  const auto next = [&](std::span<void*> addresses) {
    return calibrator.getBatch(addresses.data(), names.data(), static_cast<int32_t>(names.size()));
  };
  const auto copy = clone(network);
  if (calibration.profile) fix_extents(*copy, {*calibration.profile});
  copy->infer();
  if (!calibration.observe_all) simplify(*copy, target, {options.log, {}, {}});
  const Observations observed = observe(*copy, target, next, calibration);
  CalibrationCache cache;
  cache.kind = calibrator.getAlgorithm();
  cache.version = std::to_string(getInferLibVersion());
  for (const auto& [name, histogram] : observed) {
    const float range = find_range(histogram, search);
    if (range > 0)
      cache.scales.emplace_back(name, range / kLargestInt8);
    else
      cache.without_scale.push_back(name);
  }
  const std::string text = write_calibration_cache(cache);
  calibrator.writeCalibrationCache(text.data(), text.size());
  return cache;
}

std::optional<CalibrationCache> cache_of(nvinfer1::IInt8Calibrator& calibrator, const Log& log) {
  size_t length = 0;
  const void* data = calibrator.readCalibrationCache(length);
  if (data == nullptr) return std::nullopt;
  CalibrationCache cache = read_calibration_cache({static_cast<const char*>(data), length});
  if (const auto kind = calibrator.getAlgorithm(); kind != cache.kind)
    log.warning("the calibration cache is of {}, and the calibrator of {}: its ranges are used",
                name_of(cache.kind), name_of(kind));
  return cache;
}

// Names of the layers that were to run in int8. The others' precision follows from those around
// them: it is forgotten, for passes leave alone what is forced.
std::vector<std::string> take_wishes(Network& network) {
  std::vector<std::string> wishes;
  for (const auto& node : network.nodes()) {
    if (node->precision == DataType::kINT8) {
      wishes.push_back(node->name);
      node->precision.reset();
    }
    for (auto& type : node->output_types)
      if (type == DataType::kINT8) type.reset();
  }
  return wishes;
}

bool is_wished(const Node& node, const std::vector<std::string>& wishes) {
  return std::ranges::any_of(wishes, [&](const std::string& name) {
    // A layer that took others in is called after them, itself first.
    return node.name == name || node.name.starts_with(name + " + ");
  });
}

void report(const Placement& placement, const std::vector<std::string>& wishes,
            Precision::Constraints constraints, const Log& log) {
  size_t quantized = 0;
  for (const auto& [node, why_float] : placement.outcomes) {
    if (why_float.empty()) {
      ++quantized;
      log.verbose("layer {} runs in int8", describe(*node));
      continue;
    }
    const bool is_forced = constraints != Precision::Constraints::kHint && is_wished(*node, wishes);
    if (is_forced && constraints == Precision::Constraints::kObey)
      fail(ErrorCode::kUNSUPPORTED_STATE,
           "layer {} must run in int8 (kOBEY_PRECISION_CONSTRAINTS), and cannot: {}",
           describe(*node), why_float);
    if (is_forced)
      log.warning("layer {} was to run in int8 and stays in float: {}", describe(*node), why_float);
    else
      log.verbose("layer {} stays in float: {}", describe(*node), why_float);
  }
  log.info("int8: {} of {} layers with weights", quantized, placement.outcomes.size());
  if (!placement.without_scale.empty())
    log.warning("{} tensors have no range, and layers that read them stay in float: {}",
                placement.without_scale.size(), some_of(placement.without_scale));
}

}  // namespace

bool has_quantization(const Network& network) {
  return std::ranges::any_of(network.nodes(), [](const auto& node) {
    return node->template as<Quantize>() != nullptr || node->template as<Dequantize>() != nullptr;
  });
}

bool has_ranges(const NetworkDefinition& definition, const BuilderSettings& settings) {
  return settings.calibrator != nullptr
         || std::ranges::any_of(definition.network().values(), [&](const auto& value) {
              return definition.tensor_view(*value).dynamicRangeIsSet();
            });
}

Scales dynamic_ranges(const NetworkDefinition& definition) {
  Scales scales;
  for (const auto& value : definition.network().values()) {
    const NetworkTensor& tensor = definition.tensor_view(*value);
    if (tensor.dynamicRangeIsSet() && largest_of(tensor) > 0)
      scales[value->name] = largest_of(tensor) / kLargestInt8;
  }
  return scales;
}

void add_calibrated(Scales& scales, const Network& network, const NetworkDefinition& definition,
                    const BuilderSettings& settings, const Target& target,
                    const BuildOptions& options) {
  check_ranges(definition);
  if (settings.calibrator == nullptr) return;
  auto cache = cache_of(*settings.calibrator, options.log);
  if (!cache)
    cache = calibrate(*settings.calibrator, network, definition, settings, target, options);
  for (auto& [name, scale] : cache->scales) scales.try_emplace(std::move(name), scale);
}

void quantize(Network& network, const Scales& scales, const Target& target,
              const BuildOptions& options) {
  const std::vector<std::string> wishes = take_wishes(network);
  if (options.max_batch == 0) fix_extents(network, options.profiles);
  network.infer();
  // Weights that a refit replaces stay those of the model.
  if (options.refit == RefitScope::kNone) simplify(network, target, {options.log, {}, {}});
  const Placement placement =
      place_quantization(network, scales, target, options.precision.constraints);
  report(placement, wishes, options.precision.constraints, options.log);
  insert_quantization(network, placement);
}

}  // namespace tenon
