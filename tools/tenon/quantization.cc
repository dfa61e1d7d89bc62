#include "quantization.h"

#include <fmt/format.h>
#include <tenon/quantize.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "calibration.h"
#include "channel_statistics.h"
#include "error.h"
#include "files.h"
#include "npz.h"
#include "profiles.h"

namespace tenon::tool {
namespace {

constexpr std::string_view kPreparation = "tenon quantize";

// What the model was changed by before its tensors were observed, as the name of a tensor that a
// calibration cache has besides; readers, TensorRT too, skip tensors that a model lacks. "" for no
// change.
std::string preparation(const QuantizationOptions& o) {
  std::string name;
  if (o.equalizes) name += " --equalize";
  if (!o.smoothing.empty()) name += fmt::format(" --smoothQuant={}", std::stof(o.smoothing));
  return name.empty() ? name : std::string(kPreparation) + name;
}

// The name that preparation() gave to a cache, or "".
std::string preparation_in(const std::string& cache) {
  const size_t line = cache.find("\n" + std::string(kPreparation) + " --");
  if (line == std::string::npos) return {};
  return cache.substr(line + 1, cache.find(": ", line) - line - 1);
}

// The ranges of a model before --equalize are wrong behind it.
void check_preparation(const std::string& expected, const std::string& cache,
                       const std::string& path) {
  const auto shown = [](const std::string& name) {
    return name.empty() ? "no change" : name.substr(kPreparation.size() + 1);
  };
  const std::string found = preparation_in(cache);
  if (found != expected)
    fail(ErrorClass::kContent,
         "--calib: {}: has the ranges of the model after {}, and it is wanted after {}: name "
         "another file, which --calibData fills",
         printable(path), printable(shown(found)), shown(expected));
}

// A name a line; '#' begins a comment.
std::vector<std::string> read_names(const std::string& path) {
  const auto bytes = read_file(path);
  std::vector<std::string> names;
  std::istringstream text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (std::string line; std::getline(text, line);)
    if (!line.empty() && line.front() != '#') names.push_back(line);
  return names;
}

nvinfer1::DataType quantized_type(const BuildOptions& build) {
  return build.fp8 ? nvinfer1::DataType::kFP8 : nvinfer1::DataType::kINT8;
}

// Its stages, in their order.
class Quantization {
 public:
  Quantization(const std::string& path, const QuantizationOptions& o, const BuildOptions& build,
               Logger& logger)
      : path_(path), o_(o), build_(build), logger_(logger), kept_(o.kept_nodes()) {
    if (o.corrects_biases && build.fp8)
      fail(ErrorClass::kOptions, "--biasCorrection: is of int8 weights, and not for --fp8");
    prepare();
    find_ranges();
    if (o.corrects_biases)
      means_ = channel_statistics(bytes_of(*prepared_), data_for("--biasCorrection"), build, logger)
                   .means;
    if (o.loss.largest >= 0) add_fallback();
  }

  std::unique_ptr<nvinfer1::IHostMemory> result() const {
    auto model = quantized(logger_, kept_);
    if (model == nullptr) fail_with_log(logger_, "the model cannot be quantized");
    return model;
  }

  void export_names() const {
    std::string text = fmt::format("# nodes of {} that stay in float\n", printable(path_));
    for (const std::string& name : kept_) text += name + '\n';
    write_file(o_.exported, text.data(), text.size());
  }

 private:
  const std::string& data_for(const char* option) const {
    if (build_.calibration_data.empty())
      fail(ErrorClass::kOptions, "{}: needs samples: give them with --calibData", option);
    return build_.calibration_data;
  }

  // The model as it is calibrated and quantized.
  void prepare() {
    prepared_ = tenon::prepare_model(logger_, path_, o_.equalizes, quantized_type(build_));
    if (prepared_ == nullptr) fail_with_log(logger_, "the model cannot be read");
    if (o_.smoothing.empty()) return;
    const ChannelStatistics seen =
        channel_statistics(bytes_of(*prepared_), data_for("--smoothQuant"), build_, logger_);
    prepared_ = tenon::smooth_model(logger_, *prepared_, seen.largest, std::stof(o_.smoothing));
    if (prepared_ == nullptr) fail_with_log(logger_, "the model cannot be smoothed");
  }

  // The ranges in the file of --calib, or else those of a run of --calibData, which that file gets.
  void find_ranges() {
    const std::string& path = build_.calibration_cache;
    const std::string name = preparation(o_);
    if (build_.calibration_data.empty() || std::filesystem::exists(path)) {
      const auto bytes = read_file(path);
      ranges_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return check_preparation(name, ranges_, path);
    }
    calibrate();
    if (ranges_.empty())
      fail(ErrorClass::kNotInModel, "{}: has Quantize or Dequantize layers already",
           printable(path_));
    if (name.empty()) return;
    ranges_ += name + ": 3f800000\n";  // 1.0
    if (!path.empty()) write_file(path, ranges_.data(), ranges_.size());
  }

  void calibrate() {
    BuildOptions options = build_;
    options.int8 = true;  // ranges are the same for fp8
    options.fp8 = false;
    options.optimization_level = 0;  // the plan itself is not used
    // What options say of pictures may be of those of --lossData alone.
    if (!o_.loss.data.empty() && !holds_pictures(options.calibration_data))
      options.calibration_pictures = {};
    session::Model model = parse_model(bytes_of(*prepared_), options, {}, logger_, false);
    // Tensors that kernels fuse away are the model's, too.
    model.config->setQuantizationFlag(nvinfer1::QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
    const Calibration calibration(model, options, logger_);
    add_profiles(model, options, {calibration.shapes(), {}}, logger_);
    value_or_fail(model.build(logger_));
    calibration.save();
    ranges_ = calibration.found();
  }

  // With these nodes in float; null after an error to the logger.
  std::unique_ptr<nvinfer1::IHostMemory> quantized(nvinfer1::ILogger& log,
                                                   const std::vector<std::string>& names) const {
    return tenon::quantize_model(log, *prepared_, ranges_, names, means_, quantized_type(build_));
  }

  // What stays in float for the loss to hold --maxLoss, too.
  void add_fallback() {
    LossBound bound = o_.loss;
    if (bound.data.empty()) bound.data = build_.calibration_data;
    if (bound.data.empty())
      fail(ErrorClass::kOptions, "--maxLoss: give samples with --lossData or --calibData");
    Logger quiet(nvinfer1::ILogger::Severity::kERROR);  // the result's warnings are said once
    const auto more = nodes_to_keep_float(
        bytes_of(*prepared_),
        [&](const std::vector<std::string>& names) {
          std::vector<std::string> all = kept_;
          all.insert(all.end(), names.begin(), names.end());
          auto model = quantized(quiet, all);
          if (model == nullptr && names.empty())
            fail_with_log(quiet, "the model cannot be quantized");
          return model;
        },
        bound, build_, logger_);
    if (more.empty()) fmt::print("all that can be is in {}\n", build_.fp8 ? "fp8" : "int8");
    for (const std::string& name : more) fmt::print("in float: {}\n", printable(name));
    kept_.insert(kept_.end(), more.begin(), more.end());
  }

  const std::string& path_;
  const QuantizationOptions& o_;
  const BuildOptions& build_;
  Logger& logger_;
  std::vector<std::string> kept_;
  std::unique_ptr<nvinfer1::IHostMemory> prepared_;
  std::string ranges_;
  ChannelNumbersByName means_;
};

}  // namespace

std::vector<std::string> QuantizationOptions::kept_nodes() const {
  std::vector<std::string> names;
  for (const std::string& name : kept_float)
    if (name.starts_with('@'))
      std::ranges::copy(read_names(name.substr(1)), std::back_inserter(names));
    else
      names.push_back(name);
  return names;
}

bool QuantizationOptions::given() const {
  return std::ranges::any_of(options_, [](const CLI::Option* each) { return each->count() > 0; });
}

void QuantizationOptions::add_to(CLI::App& command) {
  static const std::map<std::string, LossMetric> kMetrics = {{"relative", LossMetric::kRelative},
                                                             {"cosine", LossMetric::kCosine},
                                                             {"top1", LossMetric::kTop1}};
  const auto with = [&](CLI::Option* option) {
    options_.push_back(option);
    return option;
  };
  with(command.add_option(
           "--keepFloat", kept_float,
           "Nodes that stay in float, by name; @FILE for a file with a name on each line"))
      ->delimiter(',');
  CLI::Option* const bound = with(command.add_option(
      "--maxLoss", loss.largest,
      "Most that outputs may lose against float: layers stay in float until that holds"));
  bound->check(number_from(0, 1e30));
  with(command.add_option(
           "--lossMetric", loss.metric,
           "What is lost: relative (default: root mean square error in parts of the outputs'), "
           "cosine (1 - cosine) or top1 (share of other largest elements)"))
      ->transform(CLI::CheckedTransformer(kMetrics))
      ->needs(bound);
  with(command.add_option(
           "--lossData", loss.data,
           "Samples to measure it on, as those of --calibData, which are the default"))
      ->needs(bound);
  with(command.add_option("--exportKeptFloat", exported,
                          "Write the names of nodes that stay in float, for --keepFloat=@FILE"));
  with(command.add_flag("--equalize", equalizes,
                        "Bring the channels between two convolutions to the same range"));
  with(command.add_flag("--biasCorrection", corrects_biases,
                        "Take from biases what rounded weights add on the samples' average"));
  with(command.add_option("--smoothQuant", smoothing,
                          "Let weights of products take the outliers of their data, the more the "
                          "nearer ALPHA is to 1 (without it: 0.5)"))
      ->expected(0, 1)
      ->default_str("0.5")
      ->check(number_from(0, 1));
}

std::unique_ptr<nvinfer1::IHostMemory> quantized_model(const std::string& path,
                                                       const QuantizationOptions& quantization,
                                                       const BuildOptions& build, Logger& logger) {
  const Quantization stages(path, quantization, build, logger);
  auto model = stages.result();
  if (!quantization.exported.empty()) stages.export_names();
  return model;
}

}  // namespace tenon::tool
