#include "model.h"

#include <tenon/build.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>

#include "error.h"
#include "io_formats.h"
#include "layer_types.h"
#include "npz.h"
#include "profiles.h"
#include "progress.h"

namespace tenon::tool {
namespace {

using nvinfer1::BuilderFlag;
using Clock = std::chrono::steady_clock;

// "workspace:512M": bytes, or with K, M or G.
void set_pool(nvinfer1::IBuilderConfig& config, const std::string& text) {
  const auto [name, amount] = split_name(text);
  double value = 0;
  const auto [end, error] = std::from_chars(amount.data(), amount.data() + amount.size(), value);
  size_t unit = size_t{1} << 20;  // trtexec counts in MiB
  const std::string suffix(end, amount.data() + amount.size());
  if (suffix == "B")
    unit = 1;
  else if (suffix == "K")
    unit = size_t{1} << 10;
  else if (suffix == "G")
    unit = size_t{1} << 30;
  else if (!suffix.empty() && suffix != "M")
    unit = 0;
  constexpr double kMaxBytes = 0x1p63;  // also neither infinity nor NaN
  if (error != std::errc() || unit == 0
      || !(value >= 0 && value < kMaxBytes / static_cast<double>(unit)))
    fail("--memPoolSize: '{}' is not an amount; expected for example workspace:512M", text);
  const auto bytes = static_cast<size_t>(value * static_cast<double>(unit));
  if (name == "workspace")
    config.setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE, bytes);
  else if (name == "tacticSharedMem")
    config.setMemoryPoolLimit(nvinfer1::MemoryPoolType::kTACTIC_SHARED_MEMORY, bytes);
  else if (name == "layerWeightGrowth")
    set_weight_growth_limits(config, bytes, weight_growth_limit(config));
  else if (name == "weightGrowth")
    set_weight_growth_limits(config, layer_weight_growth_limit(config), bytes);
  else if (name.starts_with("dla"))
    fail("--memPoolSize: there is no DLA here ('{}')", name);
  else
    fail("--memPoolSize: unknown pool '{}'; expected workspace, weightGrowth or layerWeightGrowth",
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
  set(options.error_on_timing_cache_miss, BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  set(options.no_compilation_cache, BuilderFlag::kDISABLE_COMPILATION_CACHE);
  set(options.version_compatible, BuilderFlag::kVERSION_COMPATIBLE);
  set(options.tf32, BuilderFlag::kTF32);
  if (options.no_tf32) config.clearFlag(BuilderFlag::kTF32);
  set(options.precision_constraints == "obey", BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  set(options.precision_constraints == "prefer", BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
  if (options.optimization_level >= 0)
    config.setBuilderOptimizationLevel(options.optimization_level);
  config.setMaxAuxStreams(options.aux_streams);
  config.setProfilingVerbosity(verbosity_of(options.verbosity));
  for (const std::string& pool : options.memory_pools) set_pool(config, pool);
}

/// The timing cache of a build, kept in a file. What the file holds only saves time: one that
/// cannot be used is a warning.
class TimingCacheFile {
 public:
  /// Without a path there is no cache.
  TimingCacheFile(const std::string& path, nvinfer1::IBuilderConfig& config, Logger& logger)
      : path_(path) {
    if (path.empty()) return;
    const auto stored = read(logger);
    cache_.reset(config.createTimingCache(stored.data(), stored.size()));
    if (cache_ == nullptr) {
      warn(logger, fmt::format("{}; it is made anew", logger.take_error()));
      cache_.reset(config.createTimingCache(nullptr, 0));
    }
    if (cache_ == nullptr || !config.setTimingCache(*cache_, true))
      fail_with_log(logger, "cannot make a timing cache");
  }
  void save() const {
    if (cache_ == nullptr || !is_ours_) return;
    const std::unique_ptr<nvinfer1::IHostMemory> bytes(cache_->serialize());
    if (bytes != nullptr) write_file(path_, bytes->data(), bytes->size());
  }

 private:
  // Nothing when the file is not there yet, or holds something else, which is then left alone.
  std::vector<std::byte> read(Logger& logger) {
    constexpr std::string_view kMagic = "TENONTC";
    if (::access(path_.c_str(), F_OK) != 0) return {};
    auto bytes = read_file(path_);
    is_ours_ = bytes.empty()
               || (bytes.size() >= kMagic.size()
                   && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0);
    if (is_ours_) return bytes;
    warn(logger, "it is not a timing cache of Tenon; it is ignored, and left as it is");
    return {};
  }
  void warn(Logger& logger, const std::string& text) const {
    logger.log(nvinfer1::ILogger::Severity::kWARNING, fmt::format("{}: {}", path_, text).c_str());
  }

  std::string path_;
  bool is_ours_ = true;
  std::unique_ptr<nvinfer1::ITimingCache> cache_;
};

}  // namespace

void RunInputs::add(const std::string& name, const session::Array& array) {
  constexpr int64_t kMaxValues = 64;
  shapes[name] = array.shape;
  const bool whole =
      array.type == nvinfer1::DataType::kINT32 || array.type == nvinfer1::DataType::kINT64;
  if (whole && array.count() <= kMaxValues) values[name] = value_or_fail(session::integers(array));
}

bool is_plan(const std::string& path) {
  constexpr std::string_view kMagic("ftrt\0\0\0\0TENONPLN", 16);
  const auto start = read_file(path, kMagic.size());
  return start.size() == kMagic.size()
         && std::memcmp(start.data(), kMagic.data(), kMagic.size()) == 0;
}

session::Model parse_model(const std::string& path, const BuildOptions& options,
                           const RunInputs& inputs, Logger& logger, bool with_profile) {
  if (is_plan(path))
    fail("{}: is a plan already: `tenon run`, `bench` and `inspect` take plans", path);
  const uint32_t flags =
      options.strongly_typed
          ? 1u << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)
          : 0;
  session::Model model = value_or_fail(session::Model::parse_file(path, logger, flags));
  set_flags(*model.config, options);
  if (!tenon::set_target(*model.config, options.target.c_str()))
    fail_with_log(logger, "--target: there is no " + options.target + " here");
  tenon::set_portable(*model.config, options.portable);
  tenon::set_deterministic(*model.config, options.deterministic);
  set_io_formats(model, options, logger);
  set_layer_types(*model.network, options);
  if (with_profile) add_profiles(model, options, inputs, logger);
  return model;
}

std::unique_ptr<nvinfer1::IHostMemory> build_plan(const std::string& path,
                                                  const BuildOptions& options,
                                                  const RunInputs& inputs, Logger& logger,
                                                  bool quiet) {
  session::Model model = parse_model(path, options, inputs, logger);
  const TimingCacheFile cache(options.timing_cache, *model.config, logger);
  Progress progress(quiet);
  model.config->setProgressMonitor(&progress);
  auto plan = value_or_fail(model.build(logger));
  cache.save();
  return plan;
}

LoadedModel load_model(const std::string& path, const BuildOptions& options,
                       const RunInputs& inputs, Logger& logger, bool quiet) {
  const auto start = Clock::now();
  const bool is_built = !is_plan(path);
  if (const auto unused = options.given(); !is_built && !unused.empty())
    logger.log(nvinfer1::ILogger::Severity::kWARNING,
               fmt::format("{}: is built already: {} change{} nothing", path,
                           fmt::join(unused, ", "), unused.size() == 1 ? "s" : "")
                   .c_str());
  session::Engine engine = value_or_fail(
      is_built ? session::Engine::load(*build_plan(path, options, inputs, logger, quiet), logger)
               : session::Engine::open(path, logger));
  return {std::move(engine), is_built, std::chrono::duration<double>(Clock::now() - start).count()};
}

}  // namespace tenon::tool
