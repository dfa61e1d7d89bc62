#include "model.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "builder_settings.h"
#include "calibration.h"
#include "error.h"
#include "files.h"
#include "io_formats.h"
#include "layer_types.h"
#include "npz.h"
#include "profiles.h"
#include "progress.h"

namespace tenon::tool {
namespace {

using Clock = std::chrono::steady_clock;

/// The timing cache of a build, kept in a file. What the file holds only saves time: one that
/// cannot be used is a warning.
class TimingCacheFile {
 public:
  /// Without a path there is no cache.
  TimingCacheFile(const std::string& path, nvinfer1::IBuilderConfig& config, Logger& logger)
      : path_(path), config_(config) {
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
  /// Joins what other builds have written since then.
  void save(Logger& logger) {
    if (cache_ == nullptr || !is_ours_) return;
    const FolderLock lock(path_);
    if (!lock.is_alone())
      warn(logger, "its folder is locked by another process for long: it is written all the same");
    const auto stored = read(logger);
    if (!is_ours_) return;
    const std::unique_ptr<nvinfer1::ITimingCache> others(
        config_.createTimingCache(stored.data(), stored.size()));
    if (others == nullptr)
      logger.take_error();  // the warning was given when it was read first
    else if (!cache_->combine(*others, false))
      fail_with_log(logger, path_);
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
  nvinfer1::IBuilderConfig& config_;
  bool is_ours_ = true;
  std::unique_ptr<nvinfer1::ITimingCache> cache_;
};

// Outputs of layers, and inputs of the network.
std::vector<nvinfer1::ITensor*> tensors_of(nvinfer1::INetworkDefinition& network) {
  std::vector<nvinfer1::ITensor*> tensors;
  for (int32_t i = 0; i < network.getNbInputs(); ++i) tensors.push_back(network.getInput(i));
  for (int32_t i = 0; i < network.getNbLayers(); ++i)
    for (int32_t k = 0; k < network.getLayer(i)->getNbOutputs(); ++k)
      tensors.push_back(network.getLayer(i)->getOutput(k));
  return tensors;
}

void mark_debug_tensors(nvinfer1::INetworkDefinition& network, const BuildOptions& options,
                        Logger& logger) {
  if (options.debugs_unfused && !network.markUnfusedTensorsAsDebugTensors())
    fail_with_log(logger, "--markUnfusedTensorsAsDebugTensors");
  if (options.debug_tensors.empty()) return;
  const auto tensors = tensors_of(network);
  for (const std::string& name : options.debug_tensors) {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(),
                     [&](const nvinfer1::ITensor* t) { return name == t->getName(); });
    if (found == tensors.end())
      fail(ErrorClass::kNotInModel, "--markDebug: the model has no tensor '{}'", name);
    if (!network.markDebug(**found)) fail_with_log(logger, "--markDebug=" + name);
  }
}

uint32_t network_flags(const BuildOptions& options) {
  using nvinfer1::NetworkDefinitionCreationFlag;
  return options.strongly_typed
             ? 1u << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)
             : 0;
}

void configure(session::Model& model, const BuildOptions& options, Logger& logger) {
  set_builder(*model.config, options, logger);
  set_io_formats(model, options, logger);
  set_layer_types(model, options);
  mark_debug_tensors(*model.network, options, logger);
}

std::unique_ptr<nvinfer1::IHostMemory> build_plan(session::Model model, const BuildOptions& options,
                                                  Logger& logger, bool quiet) {
  const Calibration calibration(model, options, logger);
  TimingCacheFile cache(options.timing_cache, *model.config, logger);
  Progress progress(quiet);
  model.config->setProgressMonitor(&progress);
  auto plan = value_or_fail(model.build(logger));
  cache.save(logger);
  calibration.save();
  return plan;
}

}  // namespace

void RunInputs::add(const std::string& name, const session::Array& array) {
  constexpr int64_t kMaxValues = 64;
  shapes[name] = array.shape;
  const bool whole =
      array.type == nvinfer1::DataType::kINT32 || array.type == nvinfer1::DataType::kINT64;
  if (whole && array.count() <= kMaxValues) values[name] = value_or_fail(session::integers(array));
}

std::string without_suffix(const std::string& path) {
  constexpr std::string_view kSuffix = ".onnx";
  return path.ends_with(kSuffix) ? path.substr(0, path.size() - kSuffix.size()) : path;
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
    fail(ErrorClass::kOptions,
         "{}: is a plan already: `tenon run`, `bench` and `inspect` take plans", path);
  options.check();
  session::Model model = value_or_fail(
      session::Model::parse_file(path, logger, network_flags(options), options.prefers_plugins));
  configure(model, options, logger);
  if (with_profile) add_profiles(model, options, inputs, logger);
  return model;
}

session::Model parse_model(std::span<const std::byte> bytes, const BuildOptions& options,
                           const RunInputs& inputs, Logger& logger, bool with_profile) {
  options.check();
  session::Model model =
      value_or_fail(session::Model::parse(bytes, logger, network_flags(options)));
  configure(model, options, logger);
  if (with_profile) add_profiles(model, options, inputs, logger);
  return model;
}

BuildOptions without_calibration(const BuildOptions& options) {
  BuildOptions result = options;
  result.calibration_cache.clear();
  result.calibration_data.clear();
  return result;
}

BuildOptions float_options(const BuildOptions& options) {
  BuildOptions result = without_calibration(options);
  result.int8 = result.fp16 = result.bf16 = result.best = false;
  result.optimization_level = 0;
  return result;
}

std::unique_ptr<nvinfer1::IHostMemory> build_plan(const std::string& path,
                                                  const BuildOptions& options,
                                                  const RunInputs& inputs, Logger& logger,
                                                  bool quiet) {
  return build_plan(parse_model(path, options, inputs, logger), options, logger, quiet);
}

std::unique_ptr<nvinfer1::IHostMemory> build_plan(std::span<const std::byte> model,
                                                  const BuildOptions& options,
                                                  const RunInputs& inputs, Logger& logger,
                                                  bool quiet) {
  return build_plan(parse_model(model, options, inputs, logger), options, logger, quiet);
}

LoadedModel load_model(const std::string& path, const BuildOptions& options,
                       const RunInputs& inputs, Logger& logger, bool quiet, bool by_stream) {
  const auto start = Clock::now();
  const bool is_built = !is_plan(path);
  options.check();
  if (const auto unused = options.given(); !is_built && !unused.empty())
    logger.log(nvinfer1::ILogger::Severity::kWARNING,
               fmt::format("{}: is built already: {} change{} nothing", path,
                           fmt::join(unused, ", "), unused.size() == 1 ? "s" : "")
                   .c_str());
  LoadedModel model;
  const session::EngineOptions how = options.engine_options();
  if (is_built) {
    model.plan = build_plan(path, options, inputs, logger, quiet);
    static_cast<session::Engine&>(model) =
        value_or_fail(session::Engine::load(*model.plan, logger, how));
  } else {
    static_cast<session::Engine&>(model) =
        value_or_fail(by_stream ? session::Engine::stream(path, logger, how)
                                : session::Engine::open(path, logger, how));
  }
  model.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return model;
}

}  // namespace tenon::tool
