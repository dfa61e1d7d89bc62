#include "builder_settings.h"

#include <tenon/build.h>
#include <tenon/describe.h>

#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "error.h"
#include "weight_streaming.h"

namespace tenon::tool {
namespace {

using nvinfer1::BuilderFlag;

// "workspace:512M": bytes, or with K, M or G.
void set_pool(nvinfer1::IBuilderConfig& config, const std::string& text) {
  const auto [name, amount] = split_name(text);
  const auto amount_in_bytes = bytes_of(amount, int64_t{1} << 20);  // trtexec counts in MiB
  if (!amount_in_bytes)
    fail(ErrorClass::kOptions,
         "--memPoolSize: '{}' is not an amount; expected for example workspace:512M", text);
  const auto bytes = static_cast<size_t>(*amount_in_bytes);
  if (name == "workspace")
    config.setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE, bytes);
  else if (name == "tacticSharedMem")
    config.setMemoryPoolLimit(nvinfer1::MemoryPoolType::kTACTIC_SHARED_MEMORY, bytes);
  else if (name == "layerWeightGrowth")
    set_weight_growth_limits(config, bytes, weight_growth_limit(config));
  else if (name == "weightGrowth")
    set_weight_growth_limits(config, layer_weight_growth_limit(config), bytes);
  else if (name.starts_with("dla"))
    fail(ErrorClass::kOptions, "--memPoolSize: there is no DLA here ('{}')", name);
  else
    fail(ErrorClass::kOptions,
         "--memPoolSize: unknown pool '{}'; expected workspace, weightGrowth or layerWeightGrowth",
         name);
}

nvinfer1::ProfilingVerbosity verbosity_of(const std::string& text) {
  if (text == "none") return nvinfer1::ProfilingVerbosity::kNONE;
  if (text == "detailed" || text == "verbose") return nvinfer1::ProfilingVerbosity::kDETAILED;
  return nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY;
}

void set_flags(nvinfer1::IBuilderConfig& config, const BuildOptions& options) {
  const auto set = [&](bool wanted, BuilderFlag flag) {
    if (wanted) config.setFlag(flag);
  };
  set(options.fp16 || options.best, BuilderFlag::kFP16);
  set(options.bf16 || options.best, BuilderFlag::kBF16);
  set(options.int8 || options.best, BuilderFlag::kINT8);
  set(options.fp8, BuilderFlag::kFP8);
  set(options.int4, BuilderFlag::kINT4);
  set(options.sparsity == "enable", BuilderFlag::kSPARSE_WEIGHTS);
  set(options.no_timing_cache, BuilderFlag::kDISABLE_TIMING_CACHE);
  set(options.error_on_timing_cache_miss, BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  set(options.no_compilation_cache, BuilderFlag::kDISABLE_COMPILATION_CACHE);
  set(options.tf32, BuilderFlag::kTF32);
  if (!options.tf32 && !options.has_default_tf32) config.clearFlag(BuilderFlag::kTF32);
  set(options.version_compatible, BuilderFlag::kVERSION_COMPATIBLE);
  set(options.refit || options.strips_all_weights, BuilderFlag::kREFIT);
  set(options.strips_weights && !options.refit, BuilderFlag::kREFIT_IDENTICAL);
  set(options.strips_weights || options.strips_all_weights, BuilderFlag::kSTRIP_PLAN);
  set(options.allows_weight_streaming, BuilderFlag::kWEIGHT_STREAMING);
  set(options.precision_constraints == "obey", BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  set(options.precision_constraints == "prefer", BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
}

nvinfer1::HardwareCompatibilityLevel hardware_of(const std::string& text) {
  using nvinfer1::HardwareCompatibilityLevel;
  switch (std::tolower(static_cast<unsigned char>(text[0]))) {
    case 'a':
      return HardwareCompatibilityLevel::kAMPERE_PLUS;
    case 's':
      return HardwareCompatibilityLevel::kSAME_COMPUTE_CAPABILITY;
    default:
      return HardwareCompatibilityLevel::kNONE;
  }
}

}  // namespace

void set_builder(nvinfer1::IBuilderConfig& config, const BuildOptions& options, Logger& logger) {
  set_flags(config, options);
  if (options.optimization_level >= 0)
    config.setBuilderOptimizationLevel(options.optimization_level);
  config.setMaxAuxStreams(options.aux_streams);
  config.setHardwareCompatibilityLevel(hardware_of(options.hardware));
  config.setProfilingVerbosity(verbosity_of(options.verbosity));
  for (const std::string& pools : options.memory_pools)
    for (const std::string& pool : split(pools, ',')) set_pool(config, pool);
  if (options.workspace_mib >= 0)
    set_pool(config, fmt::format("workspace:{}M", options.workspace_mib));
  std::vector<const char*> libraries;
  for (const std::string& path : options.plan_libraries) libraries.push_back(path.c_str());
  if (!libraries.empty())
    config.setPluginsToSerialize(libraries.data(), static_cast<int32_t>(libraries.size()));
  if (!tenon::set_target(config, options.target.c_str()))
    fail_with_log(logger, "--target: there is no " + options.target + " here");
  tenon::set_portable(config, options.portable);
  tenon::set_deterministic(config, options.deterministic);
}

bool builds_for_gpu(const BuildOptions& options, Logger& logger) {
  if (!options.target.empty()) return options.target != "cpu";
  const tenon::Text text = tenon::describe_machine();
  if (text == nullptr) fail_with_log(logger, "the machine cannot be described");
  const auto facts =
      nlohmann::json::parse(std::string_view(static_cast<const char*>(text->data()), text->size()));
  return facts["target"] != "cpu";
}

}  // namespace tenon::tool
