#include "options.h"

#include <NvInfer.h>
#include <cuda_runtime_api.h>
#include <tenon/build.h>
#include <tenon/describe.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>

#include "error.h"
#include "npz.h"
#include "trtexec_options.h"

namespace tenon::tool {
namespace {

std::string unquoted(const std::string& text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"')
      && text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

// A creator that takes the place of another leaves their number as it was.
std::vector<nvinfer1::IPluginCreatorInterface*> registered_plugins() {
  int32_t count = 0;
  auto* const* all = getPluginRegistry()->getAllCreatorsRecursive(&count);
  return {all, all + count};
}

void load_plugins(const std::string& name, Logger& logger) {
  const std::string path = library_path(name);
  if (path.find('/') != std::string::npos) {
    constexpr std::string_view kMagic = "\177ELF";
    const auto start = read_file(path, kMagic.size());
    if (start.size() != kMagic.size()
        || std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0)
      fail(ErrorClass::kPluginLibrary, "--plugins: {}: is not a shared library", path);
  }
  const auto before = registered_plugins();
  if (getPluginRegistry()->loadLibrary(path.c_str()) == nullptr) {
    const std::string cause = logger.take_error();
    fail(ErrorClass::kPluginLibrary, "{}: cannot load the plugin library{}{}", name,
         cause.empty() ? "" : ": ", cause);
  }
  if (registered_plugins() == before)
    logger.log(nvinfer1::ILogger::Severity::kWARNING,
               fmt::format("{}: registers no plugin that was not there before", name).c_str());
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  char quote = 0;
  for (char c : text) {
    if (quote != 0 && c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (quote == 0 && c == separator) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  return parts;
}

std::string library_path(const std::string& name) {
  const bool is_name = name.find('/') == std::string::npos;
  return is_name && std::filesystem::exists(name) ? "./" + name : name;
}

session::Shape parse_shape(const std::string& option, const std::string& text) {
  if (text == "scalar") return {};
  session::Shape shape;
  for (const std::string& part : split(text, 'x')) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), extent);
    if (error != std::errc() || end != part.data() + part.size() || extent < 0)
      fail(ErrorClass::kOptions,
           "{}: '{}' is not a shape; expected extents with x between them, as 1x3x224x224", option,
           text);
    shape.push_back(extent);
  }
  return shape;
}

bool matches(const std::string& pattern, const std::string& text) {
  const auto star = pattern.find('*');
  if (star == std::string::npos) return text == pattern;
  const std::string begin = pattern.substr(0, star), end = pattern.substr(star + 1);
  return text.size() >= begin.size() + end.size() && text.starts_with(begin) && text.ends_with(end);
}

Shapes shapes_of_inputs(const Shapes& given, const std::vector<std::string>& inputs) {
  Shapes shapes;
  for (const auto& [pattern, shape] : given) {
    if (std::find(inputs.begin(), inputs.end(), pattern) != inputs.end()) continue;
    bool is_used = false;
    for (const std::string& input : inputs)
      if (matches(pattern, input)) {
        shapes.try_emplace(input, shape);
        is_used = true;
      }
    if (!is_used) shapes.emplace(pattern, shape);
  }
  for (const auto& [name, shape] : given)
    if (std::find(inputs.begin(), inputs.end(), name) != inputs.end()) shapes[name] = shape;
  return shapes;
}

std::pair<std::string, std::string> split_name(const std::string& text) {
  const auto at = text.rfind(':');
  if (at == std::string::npos) return {"", text};
  return {unquoted(text.substr(0, at)), text.substr(at + 1)};
}

Shapes parse_shapes(const std::string& option, const std::string& text) {
  Shapes shapes;
  if (text.empty()) return shapes;
  for (const std::string& part : split(text, ',')) {
    const auto [name, shape] = split_name(part);
    if (name.empty())
      fail(ErrorClass::kOptions,
           "{}: '{}' names no tensor; expected NAME:SHAPE, as input:1x3x224x224", option, part);
    if (!shapes.emplace(name, parse_shape(option, shape)).second)
      fail(ErrorClass::kOptions, "{}: '{}' is given twice", option, name);
  }
  return shapes;
}

std::string only_model(const std::vector<NamedFile>& given) {
  const NamedFile* only = nullptr;
  for (const NamedFile& one : given) {
    if (one.path.empty()) continue;
    if (only != nullptr)
      fail(ErrorClass::kOptions, "{} {} and {} {}: give one of them", only->option, only->path,
           one.option, one.path);
    only = &one;
  }
  return only == nullptr ? "" : only->path;
}

void check_name(const std::string& name, const std::vector<std::string>& names, const char* kind) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    fail(ErrorClass::kNotInModel, "the model has no {} '{}'; its {}s are: {}", kind, name, kind,
         fmt::join(names, ", "));
}

CLI::Validator number_from(double min, double max) {
  return {[min, max](const std::string& text) {
            double value = 0;
            const char* const end = text.data() + text.size();
            const auto [rest, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc() && rest == end && value >= min && value <= max)
              return std::string();
            return fmt::format("{} is no number from {} to {}", printable(text), min, max);
          },
          fmt::format("{} to {}", min, max)};
}

void CommonOptions::add_to(CLI::App& app) {
  add_trtexec_flag(app, "--verbose", verbose);
  app.add_option("--cpuThreads", threads, "Threads to compute with (default: all)")
      ->check(CLI::Range(0, 1024));
  add_trtexec_option(app, "--device", device);
  add_trtexec_option(app, "--staticPlugins", plugins)->allow_extra_args(false);
}

static void choose_gpu(int device) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  if (device < 0 || device >= count)
    fail(ErrorClass::kOptions, "--device={}: there {} {} device{}, numbered from 0", device,
         count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
  if (const cudaError_t status = cudaSetDevice(device); status != cudaSuccess)
    fail(ErrorClass::kCuda, "--device={}: {}", device, cudaGetErrorString(status));
}

void CommonOptions::apply(Logger& logger) const {
  if (verbose) logger.set_min_severity(nvinfer1::ILogger::Severity::kVERBOSE);
  if (threads > 0) tenon::set_threads(threads);
  if (device != 0) choose_gpu(device);
  for (const std::string& library : plugins) load_plugins(library, logger);
}

void BuildOptions::add_to(CLI::App& app) {
  const size_t others = app.get_options().size();
  add_shapes(app);
  add_precision(app);
  add_search(app);
  add_machine(app);
  add_plan(app);
  for (const CLI::Option* option : std::as_const(app).get_options()) options_.push_back(option);
  options_.erase(options_.begin(), options_.begin() + static_cast<std::ptrdiff_t>(others));
  std::erase_if(options_, [](const CLI::Option* o) {
    return o->get_name() == "--shapes" || o->get_name() == "--versionCompatible";
  });
}

void BuildOptions::add_shapes(CLI::App& app) {
  add_trtexec_option(app, "--minShapes", min_)->allow_extra_args(false);
  add_trtexec_option(app, "--optShapes", opt_)->allow_extra_args(false);
  add_trtexec_option(app, "--maxShapes", max_)->allow_extra_args(false);
  add_trtexec_option(app, "--profile", profile_)
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 1023));
  app.parse_complete_callback([this, &app] { sort_into_profiles(app); });
  add_trtexec_option(app, "--shapes", shapes);
  add_trtexec_flag(app, "--int8", int8);
  add_trtexec_option(app, "--calib", calibration_cache)->needs("--int8");
  add_trtexec_option(app, "--minShapesCalib", calibration_shapes.min);
  add_trtexec_option(app, "--optShapesCalib", calibration_shapes.opt);
  add_trtexec_option(app, "--maxShapesCalib", calibration_shapes.max);
  add_trtexec_option(app, "--calibProfile", calibration_profile);
  app.add_option(
         "--calibData", calibration_data,
         "Samples to calibrate int8 with: an .npz file with an array for each input, samples "
         "along its first axis, a folder of them, or a folder of JPEG and PNG pictures; the ranges "
         "go to the file of --calib if there is none yet")
      ->needs("--int8");
  for (CLI::Option* option : calibration_pictures.add_to(app, "--calib"))
    option->needs("--calibData");
  app.add_option(
         "--calibAlgorithm", calibration_algorithm,
         "How ranges are found: percentile (default: of 99.99 %), entropy2, entropy, minmax or mse")
      ->check(CLI::IsMember({"entropy", "entropy2", "minmax", "percentile", "mse"}))
      ->needs("--calibData");
  add_trtexec_option(app, "--inputIOFormats", input_formats);
  add_trtexec_option(app, "--outputIOFormats", output_formats);
}

void BuildOptions::add_precision(CLI::App& app) {
  add_trtexec_flag(app, "--fp16", fp16);
  add_trtexec_flag(app, "--bf16", bf16);
  app.add_flag("--tf32", tf32, "Allow products of FP32 to be rounded to TF32");
  add_trtexec_flag(app, "--fp8", fp8)->excludes("--int8");
  add_trtexec_flag(app, "--int4", int4);
  add_trtexec_flag(app, "--best", best);
  add_trtexec_flag(app, "--noTF32", no_tf32)->excludes("--tf32");
  add_trtexec_option(app, "--precisionConstraints", precision_constraints)
      ->check(CLI::IsMember({"none", "prefer", "obey"}));
  add_trtexec_option(app, "--layerPrecisions", layer_precisions)->allow_extra_args(false);
  add_trtexec_option(app, "--layerOutputTypes", layer_output_types)->allow_extra_args(false);
  add_trtexec_option(app, "--layerDeviceTypes", layer_devices)->allow_extra_args(false);
  add_trtexec_option(app, "--sparsity", sparsity)
      ->check(CLI::IsMember({"disable", "enable", "force"}));
  add_trtexec_flag(app, "--stronglyTyped", strongly_typed)->excludes("--best");
}

void BuildOptions::add_search(CLI::App& app) {
  add_trtexec_option(app, "--memPoolSize", memory_pools)->allow_extra_args(false);
  add_trtexec_option(app, "--workspace", workspace_mib)->check(number_from(0, 1e12));
  add_trtexec_flag(app, "--noBuilderCache", no_timing_cache);
  add_trtexec_option(app, "--timingCacheFile", timing_cache)->excludes("--noBuilderCache");
  add_trtexec_flag(app, "--errorOnTimingCacheMiss", error_on_timing_cache_miss);
  add_trtexec_flag(app, "--noCompilationCache", no_compilation_cache);
  add_trtexec_option(app, "--builderOptimizationLevel", optimization_level)
      ->check(CLI::NonNegativeNumber);  // more than 5 is 5
  app.add_flag("--deterministic", deterministic,
               "Time nothing, so that two builds give the same plan: kernels are chosen by the "
               "timing cache, or else by their order. Without it kernels are timed, and what is "
               "fastest changes from build to build");
  add_trtexec_option(app, "--maxAuxStreams", aux_streams)->check(CLI::Range(0, 64));
  add_trtexec_option(app, "--profilingVerbosity", verbosity)
      ->check(CLI::IsMember({"none", "layer_names_only", "detailed", "default", "verbose"}));
  add_trtexec_flag(app, "--enablePluginOverride", prefers_plugins);
}

void BuildOptions::add_machine(CLI::App& app) {
  app.add_option("--target", target, "What to build for (default: cuda where there is a GPU)")
      ->check(CLI::IsMember(tenon::known_targets()));
  app.add_flag("--portable", portable, "Keep in the plan what building it elsewhere needs");
  add_trtexec_option(app, "--hardwareCompatibilityLevel", hardware)
      ->check(CLI::IsMember({"none", "ampere+", "sameComputeCapability"}, CLI::ignore_case));
  add_trtexec_option(app, "--runtimePlatform", platform)
      ->check(CLI::IsMember({"SameAsBuild", "WindowsAMD64"}));
}

void BuildOptions::add_plan(CLI::App& app) {
  add_trtexec_flag(app, "--refit", refit);
  add_trtexec_flag(app, "--stripWeights", strips_weights);
  add_trtexec_flag(app, "--stripAllWeights", strips_all_weights);
  add_trtexec_flag(app, "--allowWeightStreaming", allows_weight_streaming);
  add_trtexec_option(app, "--markDebug", debug_tensors)->delimiter(',');
  add_trtexec_flag(app, "--markUnfusedTensorsAsDebugTensors", debugs_unfused);
  add_trtexec_option(app, "--setPluginsToSerialize", plan_libraries)->allow_extra_args(false);
  add_trtexec_flag(app, "--versionCompatible", version_compatible);
}

void BuildOptions::check() const {
  if (sparsity == "force")
    fail(ErrorClass::kOptions,
         "--sparsity=force: weights are not overwritten; prune the model before exporting it");
  if (platform != "SameAsBuild")
    fail(ErrorClass::kOptions, "--runtimePlatform={}: plans are for Linux; remove it", platform);
}

std::vector<std::string> BuildOptions::given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_)
    if (option->count() > 0) names.push_back(option->get_name());
  return names;
}

void BuildOptions::sort_into_profiles(const CLI::App& app) {
  std::map<std::string, size_t> seen;  // of each option, how many values were met
  std::set<size_t> named;
  size_t current = 0;
  const auto put = [&](const char* option, const std::vector<std::string>& given,
                       std::string ProfileOptions::* member) {
    if (profiles.size() <= current) profiles.resize(current + 1);
    std::string& text = profiles[current].*member;
    if (!text.empty())
      fail(ErrorClass::kOptions,
           "{} is given twice for profile {}: join them with a comma, or put --profile={} before "
           "the second",
           option, current, current + 1);
    text = given[seen[option]++];
  };
  for (const CLI::Option* option : app.parse_order()) {
    const std::string& name = option->get_name();
    if (name == "--profile")
      named.insert(current = static_cast<size_t>(profile_[seen[name]++]));
    else if (name == "--minShapes")
      put("--minShapes", min_, &ProfileOptions::min);
    else if (name == "--optShapes")
      put("--optShapes", opt_, &ProfileOptions::opt);
    else if (name == "--maxShapes")
      put("--maxShapes", max_, &ProfileOptions::max);
  }
  has_profile_ =
      seen.contains("--minShapes") || seen.contains("--optShapes") || seen.contains("--maxShapes");
  const auto is_empty = [&](size_t p) {
    return p >= profiles.size()
           || (profiles[p].min.empty() && profiles[p].opt.empty() && profiles[p].max.empty());
  };
  for (size_t p : named)
    if (is_empty(p))
      fail(ErrorClass::kOptions,
           "--profile={}: no --minShapes, --optShapes or --maxShapes is behind it", p);
  for (size_t p = 0; p < profiles.size(); ++p)
    if (profiles.size() > 1 && is_empty(p))
      fail(ErrorClass::kOptions,
           "--profile: profile {} has no shapes; profiles are numbered from 0 without gaps", p);
}

}  // namespace tenon::tool
