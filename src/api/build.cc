#include "api/build.h"

#include <algorithm>

#include "api/algorithm_selector.h"
#include "api/calibration.h"
#include "api/io_types.h"
#include "api/plan_libraries.h"
#include "backend/targets.h"
#include "builder/build_plan.h"
#include "builder/refit.h"
#include "network/clone.h"
#include "optimize/debug_layers.h"
#include "optimize/explicit_batch.h"
#include "optimize/plugin_scales.h"

namespace tenon {
namespace {

using nvinfer1::BuilderFlag;

// Passes progress on to the application, and ends phases that an error left open.
class Monitor final : public BuildProgress {
 public:
  explicit Monitor(nvinfer1::IProgressMonitor& monitor) : monitor_(monitor) {}
  ~Monitor() override {
    while (!open_.empty()) end(open_.back().c_str());
  }
  void begin(const char* phase, const char* parent, int steps) override {
    open_.emplace_back(phase);
    monitor_.phaseStart(phase, parent, steps);
  }
  bool step(const char* phase, int step) override { return monitor_.stepComplete(phase, step); }
  void end(const char* phase) override {
    const std::string name = phase;
    std::erase(open_, name);
    monitor_.phaseFinish(name.c_str());
  }

 private:
  nvinfer1::IProgressMonitor& monitor_;
  std::vector<std::string> open_;
};

struct FlagName {
  BuilderFlag flag;
  const char* name;
};

// Flags that promise what the engine does not do yet.
constexpr FlagName kRefused[] = {
    {BuilderFlag::kSAFETY_SCOPE, "kSAFETY_SCOPE"},
    {BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE, "kDISTRIBUTIVE_INDEPENDENCE"},
};

// Flags of types that layers have only where the network says so.
constexpr FlagName kQuantized[] = {
    {BuilderFlag::kINT8, "kINT8"},
    {BuilderFlag::kFP8, "kFP8"},
    {BuilderFlag::kINT4, "kINT4"},
    {BuilderFlag::kFP4, "kFP4"},
};

// Flags that allow something the engine does not make use of yet.
constexpr FlagName kUnused[] = {
    {BuilderFlag::kSPARSE_WEIGHTS, "kSPARSE_WEIGHTS"},
    {BuilderFlag::kMONITOR_MEMORY, "kMONITOR_MEMORY"},
};

void refuse(bool requested, const char* what) {
  if (requested) fail(ErrorCode::kUNSUPPORTED_STATE, "{} is not supported yet", what);
}

void check_quantized(const NetworkDefinition& definition, const BuilderSettings& settings,
                     const Log& log) {
  const bool quantizes = has_quantization(definition.network());
  for (const auto& [flag, name] : kQuantized) {
    if (!settings.flag(flag) || quantizes) continue;
    if (flag != BuilderFlag::kINT8)
      log.warning(
          "BuilderFlag::{} changes nothing: the network has no Quantize and Dequantize layers, and "
          "its layers run in float",
          name);
    else if (!has_ranges(definition, settings))
      log.warning(
          "BuilderFlag::kINT8 changes nothing: the network has no Quantize and Dequantize layers, "
          "and there is neither a calibrator nor a tensor with a dynamic range");
  }
  if (quantizes && settings.calibrator != nullptr && settings.flag(BuilderFlag::kINT8))
    log.warning(
        "the INT8 calibrator is not used: the network's Quantize and Dequantize layers have the "
        "scales");
}

void check_weight_streaming(const BuilderSettings& settings, const Log& log) {
  if (!settings.flag(BuilderFlag::kWEIGHT_STREAMING)) return;
  if (target_of(settings).device().is_host())
    log.warning(
        "BuilderFlag::kWEIGHT_STREAMING changes nothing: on a CPU weights are in the host's "
        "memory");
}

RefitScope refit_scope(const BuilderSettings& settings) {
  if (settings.flag(BuilderFlag::kREFIT_INDIVIDUAL)) return RefitScope::kMarked;
  const bool all = settings.flag(BuilderFlag::kREFIT)
                   || settings.flag(BuilderFlag::kREFIT_IDENTICAL)
                   || settings.flag(BuilderFlag::kSTRIP_PLAN);
  return all ? RefitScope::kAll : RefitScope::kNone;
}

// Types that no layer can be given.
void check_precisions(const NetworkDefinition& definition, const BuilderSettings& settings,
                      const Log& log) {
  for (const auto& node : definition.network().nodes()) {
    if (!node->precision || !is_float(*node->precision) || bits_of(*node->precision) >= 16)
      continue;
    if (settings.flag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS))
      fail(ErrorCode::kUNSUPPORTED_STATE,
           "layer {} must run in {} (kOBEY_PRECISION_CONSTRAINTS), which is not supported yet",
           describe(*node), name_of(*node->precision));
    log.warning(
        "layer {}: its precision {} is not supported yet; it runs in the type of its inputs",
        describe(*node), name_of(*node->precision));
  }
}

// The 16-bit type that layers are asked to choose, which some targets do not follow.
std::optional<DataType> reduced_type(const NetworkDefinition& definition,
                                     const BuilderSettings& settings, const Target& target,
                                     const Log& log) {
  std::optional<DataType> reduced;
  for (const auto& [flag, name, type] :
       {std::tuple{BuilderFlag::kFP16, "kFP16", DataType::kHALF},
        std::tuple{BuilderFlag::kBF16, "kBF16", DataType::kBF16}}) {
    if (!settings.flag(flag)) continue;
    if (definition.strongly_typed()) {
      log.warning("BuilderFlag::{} changes nothing: a strongly typed network keeps its types",
                  name);
      continue;
    }
    if (!target.is_fast_in(type))
      log.warning(
          "BuilderFlag::{} changes nothing: the target {} is no faster in {} than in float32", name,
          target.name(), name_of(type));
    if (!reduced || (!target.is_fast_in(*reduced) && target.is_fast_in(type))) reduced = type;
  }
  return reduced;
}

void check_devices(const BuilderSettings& settings, const Log& log) {
  bool dla = settings.default_device == nvinfer1::DeviceType::kDLA;
  for (const auto& [layer, device] : settings.devices) dla |= device == nvinfer1::DeviceType::kDLA;
  if (!dla) return;
  refuse(!settings.flag(BuilderFlag::kGPU_FALLBACK), "DeviceType::kDLA without kGPU_FALLBACK");
  log.warning("there is no DLA: all layers run on the default device (kGPU_FALLBACK)");
}

// The one profile of a network with an implicit batch: from one item to the largest batch, which
// is what it is made fast for.
ProfileRequest batch_profile(const Network& network, int32_t max_batch) {
  ProfileRequest profile;
  for (const Value* input : network.inputs()) {
    Shape min = input->declared, max = input->declared;
    min[0] = 1;
    max[0] = max_batch;
    auto& range = profile.inputs[input->name];
    range.min = min;
    range.opt = range.max = max;
  }
  return profile;
}

}  // namespace

bool is_to_be_quantized(const NetworkDefinition& definition, const BuilderSettings& settings,
                        const Log& log) {
  if (!settings.flag(BuilderFlag::kINT8) || has_quantization(definition.network())
      || !has_ranges(definition, settings))
    return false;
  if (!definition.strongly_typed()) return true;
  log.warning("BuilderFlag::kINT8 changes nothing: a strongly typed network keeps its types");
  return false;
}

void check_supported(const NetworkDefinition& definition, const BuilderSettings& settings,
                     const Log& log) {
  for (const auto& [flag, name] : kRefused)
    refuse(settings.flag(flag), fmt::format("BuilderFlag::{}", name).c_str());
  refuse(settings.capability != nvinfer1::EngineCapability::kSTANDARD,
         "an engine capability other than kSTANDARD");
  refuse(settings.platform != nvinfer1::RuntimePlatform::kSAME_AS_BUILD,
         "building for another platform");
  for (const auto& [flag, name] : kUnused)
    if (settings.flag(flag))
      log.warning("BuilderFlag::{} is not used yet: layers run as if it were not set", name);
  check_quantized(definition, settings, log);
  check_weight_streaming(settings, log);
  check_devices(settings, log);
  for (Value* input : definition.network().inputs())
    refuse(definition.tensor_view(*input).getBroadcastAcrossBatch(),
           fmt::format("input '{}', which items of the batch share (setBroadcastAcrossBatch),",
                       input->name)
               .c_str());
  check_precisions(definition, settings, log);
  require(!definition.network().outputs().empty(),
          "the network has no output: call INetworkDefinition::markOutput");
}

std::unique_ptr<Network> copy_to_build(const NetworkDefinition& definition, int32_t max_batch) {
  std::unique_ptr<Network> network = clone(definition.network());
  add_debug_layers(*network);
  if (definition.hasImplicitBatchDimension()) {
    for (const auto& node : definition.network().nodes())
      for (Value* output : node->outputs) definition.infer(*output);
    make_batch_explicit(*network, max_batch);
  }
  cast_inputs(*network);
  return network;
}

const Target& target_of(const BuilderSettings& settings) {
  return settings.target.empty() ? default_target() : target_named(settings.target);
}

Precision precision_of(const NetworkDefinition& definition, const BuilderSettings& settings,
                       const Target& target, const Log& log) {
  Precision precision;
  precision.reduced = reduced_type(definition, settings, target, log);
  if (settings.flag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS))
    precision.constraints = Precision::Constraints::kObey;
  else if (settings.flag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS))
    precision.constraints = Precision::Constraints::kPrefer;
  for (const auto& node : definition.network().nodes())
    if (precision.constraints == Precision::Constraints::kHint && node->precision
        && (node->precision == DataType::kHALF || node->precision == DataType::kBF16)
        && !(node->precision == precision.reduced && target.is_fast_in(*precision.reduced)))
      log.warning(
          "layer {}: its precision {} is a hint that is not followed here; set "
          "kPREFER_PRECISION_CONSTRAINTS or kOBEY_PRECISION_CONSTRAINTS",
          describe(*node), name_of(*node->precision));
  return precision;
}

Plan build(const NetworkDefinition& definition, const BuilderSettings& settings, int32_t max_batch,
           const Reporter& reporter) {
  check_supported(definition, settings, reporter.log());
  const Target& target = target_of(settings);
  const std::unique_ptr<Network> network = copy_to_build(definition, max_batch);
  std::optional<Monitor> monitor;
  if (settings.monitor != nullptr) monitor.emplace(*settings.monitor);
  BuildOptions options;
  for (const auto& profile : settings.profiles) options.profiles.push_back(profile->request());
  if (definition.hasImplicitBatchDimension()) {
    require(options.profiles.empty(),
            "a network with an implicit batch has no optimization profiles: only its batch may "
            "change, and setMaxBatchSize bounds that");
    options.max_batch = max_batch;
    options.profiles.push_back(batch_profile(*network, options.max_batch));
  }
  // Layers that are the same are timed once, also where the application keeps no timing cache.
  TimingCache of_this_build;
  if (!settings.flag(BuilderFlag::kDISABLE_TIMING_CACHE))
    options.timing_cache =
        settings.timing_cache != nullptr ? settings.timing_cache.get() : &of_this_build;
  if (!settings.flag(BuilderFlag::kDISABLE_COMPILATION_CACHE))
    options.code_cache = options.timing_cache;
  options.progress = monitor ? &*monitor : nullptr;
  options.log = reporter.log();
  options.verbosity = settings.verbosity;
  options.precision = precision_of(definition, settings, target, reporter.log());
  // The plans of a GPU run on others of its compute capability, and on no more unless portable.
  options.portable = settings.portable
                     || (settings.hardware == nvinfer1::HardwareCompatibilityLevel::kAMPERE_PLUS
                         && !target.device().is_host());
  options.refit = refit_scope(settings);
  options.tf32 =
      settings.flag(BuilderFlag::kTF32) && (settings.tf32_was_set || !target.device().is_host());
  options.max_growth = settings.weight_growth;
  options.aux_streams = std::clamp(settings.aux_streams, 0, Plan::kMaxAuxStreams);
  options.time_kernels = settings.optimization_level > 0;
  options.measure = !settings.deterministic;
  options.editable_timing_cache =
      settings.flag(BuilderFlag::kEDITABLE_TIMING_CACHE) && settings.timing_cache != nullptr;
  options.error_on_timing_cache_miss = settings.flag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  const auto limit_of = [](const BuilderSettings& s) {
    return s.pools[static_cast<size_t>(nvinfer1::MemoryPoolType::kWORKSPACE)];
  };
  // The default is the machine's memory, which no kernel is asked to keep within.
  if (const size_t limit = limit_of(settings); limit < limit_of(BuilderSettings()))
    options.max_workspace = limit;
  Scales scales = dynamic_ranges(definition);
  const bool quantizes = is_to_be_quantized(definition, settings, reporter.log());
  if (quantizes) add_calibrated(scales, *network, definition, settings, target, options);
  quantize_borders(*network, scales);
  if (quantizes) quantize(*network, scales, target, options);
  set_plugin_scales(*network, scales);
  std::optional<AlgorithmSelection> selection;
  if (settings.selector != nullptr)
    selection.emplace(*settings.selector, settings.flag(BuilderFlag::kREJECT_EMPTY_ALGORITHMS));
  options.selector = selection ? &*selection : nullptr;
  auto libraries = read_libraries(settings.plugins);
  Plan plan = build_plan(*network, target, options);
  if (selection) selection->report();
  plan.libraries = std::move(libraries);
  return settings.flag(BuilderFlag::kSTRIP_PLAN) ? stripped(std::move(plan)) : plan;
}

}  // namespace tenon
