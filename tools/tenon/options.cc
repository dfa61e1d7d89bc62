#include "options.h"

#include <NvInfer.h>
#include <tenon/build.h>
#include <tenon/describe.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>

#include "error.h"
#include "npz.h"

namespace tenon::tool {
namespace {

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
      fail("--plugins: {}: is not a shared library", path);
  }
  const auto before = registered_plugins();
  if (getPluginRegistry()->loadLibrary(path.c_str()) == nullptr) {
    const std::string cause = logger.take_error();
    fail("{}: cannot load the plugin library{}{}", name, cause.empty() ? "" : ": ", cause);
  }
  if (registered_plugins() == before)
    logger.log(nvinfer1::ILogger::Severity::kWARNING,
               fmt::format("{}: registers no plugin that was not there before", name).c_str());
}

}  // namespace

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
      fail("{}: '{}' is not a shape; expected extents with x between them, as 1x3x224x224", option,
           text);
    shape.push_back(extent);
  }
  return shape;
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
      fail("{}: '{}' names no tensor; expected NAME:SHAPE, as input:1x3x224x224", option, part);
    if (!shapes.emplace(name, parse_shape(option, shape)).second)
      fail("{}: '{}' is given twice", option, name);
  }
  return shapes;
}

std::string only_model(const std::vector<NamedFile>& given) {
  const NamedFile* only = nullptr;
  for (const NamedFile& one : given) {
    if (one.path.empty()) continue;
    if (only != nullptr)
      fail("{} {} and {} {}: give one of them", only->option, only->path, one.option, one.path);
    only = &one;
  }
  return only == nullptr ? "" : only->path;
}

void check_name(const std::string& name, const std::vector<std::string>& names, const char* kind) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    fail("the model has no {} '{}'; its {}s are: {}", kind, name, kind, fmt::join(names, ", "));
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
  app.add_flag("--verbose", verbose, "Print everything the library says");
  app.add_option("--cpuThreads", threads, "Threads to compute with (default: all)")
      ->check(CLI::Range(0, 1024));
  app.add_option("--plugins,--staticPlugins,--dynamicPlugins", plugins,
                 "Plugin libraries to load, repeatable")
      ->allow_extra_args(false);
}

void CommonOptions::apply(Logger& logger) const {
  if (verbose) logger.set_min_severity(nvinfer1::ILogger::Severity::kVERBOSE);
  if (threads > 0) tenon::set_threads(threads);
  for (const std::string& library : plugins) load_plugins(library, logger);
}

void BuildOptions::add_to(CLI::App& app) {
  const size_t others = app.get_options().size();
  app.add_option("--minShapes", min_, "Smallest shapes, as input:1x3x64x64,other:1")
      ->allow_extra_args(false);
  app.add_option("--optShapes", opt_, "Shapes to be fastest at")->allow_extra_args(false);
  app.add_option("--maxShapes", max_, "Largest shapes")->allow_extra_args(false);
  app.add_option("--profile", profile_,
                 "Number of the profile that the --minShapes, --optShapes and --maxShapes behind "
                 "it make (default 0)")
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 1023));
  app.parse_complete_callback([this, &app] { sort_into_profiles(app); });
  app.add_option("--shapes", shapes, "Shapes: of the profile's min, opt and max, or to run with");
  app.add_option("--inputIOFormats", input_formats,
                 "Type and format of the inputs: one for all or one for each, as fp16:chw");
  app.add_option("--outputIOFormats", output_formats, "The same of the outputs");
  app.add_option("--memPoolSize", memory_pools,
                 "Memory limits, as workspace:512M; weightGrowth:100M is how much more than in the "
                 "model weights may take, layerWeightGrowth:10M of one layer")
      ->allow_extra_args(false);
  app.add_option("--timingCacheFile", timing_cache, "Read and update this timing cache");
  app.add_flag("--errorOnTimingCacheMiss", error_on_timing_cache_miss,
               "Fail when a layer is not in the timing cache");
  app.add_flag("--noCompilationCache", no_compilation_cache,
               "Keep no compiled code in the timing cache");
  app.add_option("--builderOptimizationLevel", optimization_level, "0 (fast build) to 5")
      ->check(CLI::Range(0, 5));
  app.add_option(
         "--maxAuxStreams", aux_streams,
         "How many streams branches of the network may run in besides the main one, on a GPU "
         "(default 0)")
      ->check(CLI::Range(0, 64));
  app.add_option("--profilingVerbosity", verbosity, "What the plan says of its layers")
      ->check(CLI::IsMember({"none", "layer_names_only", "detailed", "default", "verbose"}));
  app.add_option("--target", target, "What to build for (default: cuda where there is a GPU)")
      ->check(CLI::IsMember(tenon::known_targets()));
  app.add_flag("--deterministic", deterministic,
               "Measure nothing, so that two builds give the same plan: kernels are chosen by the "
               "timing cache, or else by their order. Without it kernels are timed, and what is "
               "fastest changes from build to build");
  app.add_flag("--portable", portable, "Keep in the plan what building it elsewhere needs");
  app.add_flag("--fp16", fp16, "Allow FP16, on targets that are fast in it");
  app.add_flag("--bf16", bf16, "Allow BF16, on targets that are fast in it");
  app.add_flag("--tf32", tf32, "Allow products of FP32 to be rounded to TF32");
  app.add_flag("--int8", int8, "Allow INT8");
  app.add_flag("--best", best, "Allow every precision");
  app.add_flag("--noTF32", no_tf32, "Forbid TF32, which is the default")->excludes("--tf32");
  app.add_option("--precisionConstraints", precision_constraints,
                 "What becomes of --layerPrecisions and --layerOutputTypes")
      ->check(CLI::IsMember({"none", "prefer", "obey"}));
  app.add_option("--layerPrecisions", layer_precisions,
                 "Types that layers compute in, as *:fp16,conv1:fp32")
      ->allow_extra_args(false);
  app.add_option("--layerOutputTypes", layer_output_types,
                 "Types of layers' outputs, as conv1:fp16 or split:fp16+fp32")
      ->allow_extra_args(false);
  app.add_flag("--stronglyTyped", strongly_typed, "Types are those of the network");
  app.add_flag("--versionCompatible,--vc", version_compatible, "Ask for a version compatible plan");
  for (const CLI::Option* option : std::as_const(app).get_options()) options_.push_back(option);
  options_.erase(options_.begin(), options_.begin() + static_cast<std::ptrdiff_t>(others));
  std::erase_if(options_, [](const CLI::Option* o) { return o->get_name() == "--shapes"; });
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
      fail(
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
      fail("--profile={}: no --minShapes, --optShapes or --maxShapes is behind it", p);
  for (size_t p = 0; p < profiles.size(); ++p)
    if (profiles.size() > 1 && is_empty(p))
      fail("--profile: profile {} has no shapes; profiles are numbered from 0 without gaps", p);
}

void add_ignored_options(CLI::App& app, Logger& logger) {
  for (const char* name :
       {"--explicitBatch", "--useCudaGraph", "--noDataTransfers", "--useSpinWait",
        "--separateProfileRun", "--skipInference", "--buildOnly", "--noBuilderCache", "--threads"})
    app.add_flag_function(
           name,
           [&logger, name](int64_t) {
             logger.log(nvinfer1::ILogger::Severity::kWARNING,
                        fmt::format("{} changes nothing here", name).c_str());
           },
           "Accepted for scripts; changes nothing")
        ->group("");
  for (const char* name :
       {"--minTiming", "--avgTiming", "--device", "--useDLACore", "--tacticSources"})
    app.add_option_function<std::string>(
           name,
           [&logger, name](const std::string&) {
             logger.log(nvinfer1::ILogger::Severity::kWARNING,
                        fmt::format("{} changes nothing here", name).c_str());
           },
           "Accepted for scripts; changes nothing")
        ->group("");
}

}  // namespace tenon::tool
