// `tenon quantize`: an ONNX model and samples in, an explicitly quantized ONNX model out.
#include <fmt/format.h>
#include <tenon/onnx.h>
#include <tenon/quantize.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "calibration.h"
#include "channel_statistics.h"
#include "commands.h"
#include "error.h"
#include "files.h"
#include "model.h"
#include "npz.h"
#include "profiles.h"
#include "quantize_fallback.h"

namespace tenon::tool {
namespace {

struct QuantizeOptions {
  std::string model, output, exported;
  std::vector<std::string> kept_float;
  double max_loss = -1;
  bool equalizes = false, corrects_biases = false;
  std::string smoothing;  // alpha; "" for none
  int weight_bits = 0;    // of --weightOnly; 0 without it
  int64_t group_size = edit::WeightQuantization().group;
  LossBound loss;
  CommonOptions common;
  BuildOptions build;
};

const std::string& data_for(const char* option, const QuantizeOptions& o) {
  if (o.build.calibration_data.empty())
    fail("{}: needs samples: give them with --calibData", option);
  return o.build.calibration_data;
}

// The model as it is calibrated and quantized.
std::unique_ptr<nvinfer1::IHostMemory> prepared(const QuantizeOptions& o, Logger& logger) {
  auto model = tenon::prepare_model(logger, o.model, o.equalizes);
  if (model == nullptr) fail_with_log(logger, "the model cannot be read");
  if (o.smoothing.empty()) return model;
  const ChannelStatistics seen =
      channel_statistics(bytes_of(*model), data_for("--smoothQuant", o), o.build, logger);
  model = tenon::smooth_model(logger, *model, seen.largest, std::stof(o.smoothing));
  if (model == nullptr) fail_with_log(logger, "the model cannot be smoothed");
  return model;
}

constexpr std::string_view kPreparation = "tenon quantize";

// What the model was changed by before its tensors were observed, as the name of a tensor that a
// calibration cache has besides; readers, TensorRT too, skip tensors that a model lacks. "" for no
// change.
std::string preparation(const QuantizeOptions& o) {
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
void check_preparation(const QuantizeOptions& o, const std::string& cache) {
  const auto shown = [](const std::string& name) {
    return name.empty() ? "no change" : name.substr(kPreparation.size() + 1);
  };
  const std::string expected = preparation(o), found = preparation_in(cache);
  if (found != expected)
    fail(
        "--calib: {}: has the ranges of the model after {}, and it is wanted after {}: name "
        "another file, which --calibData fills",
        printable(o.build.calibration_cache), printable(shown(found)), shown(expected));
}

// The ranges in the file of --calib, or else those of a run of --calibData, which that file gets.
std::string calibration_cache(const QuantizeOptions& o, const nvinfer1::IHostMemory& prepared,
                              Logger& logger) {
  BuildOptions options = o.build;
  if (options.calibration_data.empty() || std::filesystem::exists(options.calibration_cache)) {
    const auto bytes = read_file(options.calibration_cache);
    std::string cache(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    check_preparation(o, cache);
    return cache;
  }
  options.int8 = true;
  options.optimization_level = 0;  // the plan itself is not used
  session::Model model = parse_model(bytes_of(prepared), options, {}, logger, false);
  // Tensors that kernels fuse away are the model's, too.
  model.config->setQuantizationFlag(nvinfer1::QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  const Calibration calibration(model, options, logger);
  add_profiles(model, options, {calibration.shapes(), {}}, logger);
  value_or_fail(model.build(logger));
  calibration.save();
  std::string found = calibration.found();
  if (found.empty()) fail("{}: has Quantize or Dequantize layers already", o.model);
  if (const std::string name = preparation(o); !name.empty()) {
    found += name + ": 3f800000\n";  // 1.0
    if (!options.calibration_cache.empty())
      write_file(options.calibration_cache, found.data(), found.size());
  }
  return found;
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

// The names of --keepFloat, where @FILE stands for those in it.
std::vector<std::string> kept_float(const QuantizeOptions& o) {
  std::vector<std::string> names;
  for (const std::string& name : o.kept_float)
    if (name.starts_with('@'))
      std::ranges::copy(read_names(name.substr(1)), std::back_inserter(names));
    else
      names.push_back(name);
  return names;
}

void export_names(const QuantizeOptions& o, const std::vector<std::string>& names) {
  std::string text = fmt::format("# nodes of {} that stay in float\n", printable(o.model));
  for (const std::string& name : names) text += name + '\n';
  write_file(o.exported, text.data(), text.size());
}

// Quantizes the model with these nodes, and those of --keepFloat, in float.
using Quantize = std::function<std::unique_ptr<nvinfer1::IHostMemory>(
    nvinfer1::ILogger& logger, const std::vector<std::string>& kept)>;

// What stays in float for the loss to hold --maxLoss, besides `kept`.
void add_fallback(const QuantizeOptions& o, const nvinfer1::IHostMemory& prepared,
                  const Quantize& quantized, std::vector<std::string>& kept, Logger& logger) {
  LossBound bound = o.loss;
  bound.largest = o.max_loss;
  if (bound.data.empty()) bound.data = o.build.calibration_data;
  if (bound.data.empty()) fail("--maxLoss: give samples with --lossData or --calibData");
  Logger quiet(nvinfer1::ILogger::Severity::kERROR);  // the result's warnings are said once
  const auto more = nodes_to_keep_float(
      bytes_of(prepared),
      [&](const std::vector<std::string>& names) {
        std::vector<std::string> all = kept;
        all.insert(all.end(), names.begin(), names.end());
        auto model = quantized(quiet, all);
        if (model == nullptr && names.empty())
          fail_with_log(quiet, "the model cannot be quantized");
        return model;
      },
      bound, o.build, logger);
  if (more.empty()) fmt::print("all that can be is in int8\n");
  for (const std::string& name : more) fmt::print("in float: {}\n", printable(name));
  kept.insert(kept.end(), more.begin(), more.end());
}

// Weights alone, which takes no samples.
void quantize_weights(const QuantizeOptions& o, Logger& logger) {
  const std::string path =
      o.output.empty() ? fmt::format("{}_int{}.onnx", without_suffix(o.model), o.weight_bits)
                       : o.output;
  check_files({{"model", o.model}}, {{"-o", path}});
  o.common.apply(logger);
  const std::vector<std::string> kept = kept_float(o);
  auto model = edit::Model::load(o.model);
  const auto report =
      edit::quantize_weights(model, {o.weight_bits, o.group_size, {kept.begin(), kept.end()}});
  if (report.products == 0)
    fail("{}: has no MatMul or Gemm with constant float weights", printable(o.model));
  model.save(path);
  constexpr double kMebibyte = 1 << 20;
  fmt::print("{} -> {}  (weights of {} products: {:.1f} -> {:.1f} MiB)\n", printable(o.model),
             printable(path), report.products, static_cast<double>(report.bytes_before) / kMebibyte,
             static_cast<double>(report.bytes_after) / kMebibyte);
}

void quantize(const QuantizeOptions& o, Logger& logger) {
  if (o.weight_bits != 0) return quantize_weights(o, logger);
  if (o.build.calibration_cache.empty() && o.build.calibration_data.empty())
    fail("quantize: give samples with --calibData, or a calibration cache with --calib");
  std::string path = o.output;
  if (path.empty()) path = without_suffix(o.model) + "_int8.onnx";
  check_files({{"model", o.model}}, {{"-o", path}, {"--exportKeptFloat", o.exported}});
  o.common.apply(logger);
  std::vector<std::string> kept = kept_float(o);
  const auto prepared = tool::prepared(o, logger);
  const std::string cache = calibration_cache(o, *prepared, logger);
  ChannelNumbersByName means;
  if (o.corrects_biases)
    means =
        channel_statistics(bytes_of(*prepared), data_for("--biasCorrection", o), o.build, logger)
            .means;
  const auto quantized = [&](nvinfer1::ILogger& log, const std::vector<std::string>& names) {
    return tenon::quantize_model(log, *prepared, cache, names, means);
  };
  if (o.max_loss >= 0) add_fallback(o, *prepared, quantized, kept, logger);
  const auto model = quantized(logger, kept);
  if (model == nullptr) fail_with_log(logger, "the model cannot be quantized");
  write_file(path, model->data(), model->size());
  if (!o.exported.empty()) export_names(o, kept);
  fmt::print("{} -> {}  ({:.2f} MiB)\n", printable(o.model), printable(path),
             static_cast<double>(model->size()) / (1 << 20));
}

void add_weight_only(CLI::App& command, QuantizeOptions& o) {
  static const std::map<std::string, int> kBits = {{"int4", 4}, {"int8", 8}};
  CLI::Option* const only =
      command
          .add_option("--weightOnly", o.weight_bits,
                      "Quantize the constant matrices of products alone, to int4 or int8, without "
                      "samples; what they are multiplied with stays float")
          ->transform(CLI::CheckedTransformer(kBits));
  command
      .add_option("--groupSize", o.group_size,
                  "Weights that share a scale (default: 128); 0 for a scale for each channel")
      ->needs(only);
  for (const char* other : {"--calib", "--calibData", "--maxLoss", "--equalize", "--biasCorrection",
                            "--smoothQuant", "--exportKeptFloat"})
    only->excludes(command.get_option(other));
}

void add_loss(CLI::App& command, QuantizeOptions& o) {
  static const std::map<std::string, LossMetric> kMetrics = {{"relative", LossMetric::kRelative},
                                                             {"cosine", LossMetric::kCosine},
                                                             {"top1", LossMetric::kTop1}};
  CLI::Option* const max_loss = command.add_option(
      "--maxLoss", o.max_loss,
      "Most that outputs may lose against float: layers stay in float until that holds");
  max_loss->check(number_from(0, 1e30));
  command
      .add_option("--lossMetric", o.loss.metric,
                  "What is lost: relative (default: root mean square error in parts of the "
                  "outputs'), cosine (1 - cosine) or top1 (share of other largest elements)")
      ->transform(CLI::CheckedTransformer(kMetrics))
      ->needs(max_loss);
  command
      .add_option("--lossData", o.loss.data,
                  "Samples to measure it on, as those of --calibData, which are the default")
      ->needs(max_loss);
  command.add_option("--exportKeptFloat", o.exported,
                     "Write the names of nodes that stay in float, for --keepFloat=@FILE");
}

}  // namespace

void add_quantize(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<QuantizeOptions>();
  CLI::App* command = app.add_subcommand(
      "quantize", "Write an ONNX model in int8, with QuantizeLinear and DequantizeLinear");
  command->add_option("model", o->model, "The ONNX model")->required();
  command->add_option("-o,--output", o->output, "The model to write (default: NAME_int8.onnx)");
  command
      ->add_option("--keepFloat", o->kept_float,
                   "Nodes that stay in float, by name; @FILE for a file with a name on each line")
      ->delimiter(',');
  add_loss(*command, *o);
  command->add_flag("--equalize", o->equalizes,
                    "Bring the channels between two convolutions to the same range");
  command->add_flag("--biasCorrection", o->corrects_biases,
                    "Take from biases what rounded weights add on the samples' average");
  command
      ->add_option("--smoothQuant", o->smoothing,
                   "Let weights of products take the outliers of their data, the more the nearer "
                   "ALPHA is to 1 (without it: 0.5)")
      ->expected(0, 1)
      ->default_str("0.5")
      ->check(number_from(0, 1));
  o->common.add_to(*command);
  o->build.add_to(*command);
  for (const char* option : {"--calib", "--calibData"})  // int8 is what this is for
    command->get_option(option)->remove_needs(command->get_option("--int8"));
  add_weight_only(*command, *o);
  command->callback([o, &logger] { quantize(*o, logger); });
}

}  // namespace tenon::tool
