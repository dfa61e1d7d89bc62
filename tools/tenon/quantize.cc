// `tenon quantize`: an ONNX model and samples in, an explicitly quantized ONNX model out.
#include <fmt/format.h>
#include <tenon/quantize.h>

#include <filesystem>

#include "calibration.h"
#include "commands.h"
#include "error.h"
#include "files.h"
#include "model.h"
#include "npz.h"
#include "profiles.h"

namespace tenon::tool {
namespace {

struct QuantizeOptions {
  std::string model, output;
  std::vector<std::string> kept_float;
  CommonOptions common;
  BuildOptions build;
};

// The ranges in the file of --calib, or else those of a run of --calibData, which that file gets.
std::string calibration_cache(const QuantizeOptions& o, Logger& logger) {
  BuildOptions options = o.build;
  if (options.calibration_data.empty() || std::filesystem::exists(options.calibration_cache)) {
    const auto bytes = read_file(options.calibration_cache);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  options.int8 = true;
  options.optimization_level = 0;  // the plan itself is not used
  session::Model model = parse_model(o.model, options, {}, logger, false);
  // Tensors that kernels fuse away are the model's, too.
  model.config->setQuantizationFlag(nvinfer1::QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  const Calibration calibration(model, options, logger);
  add_profiles(model, options, {calibration.shapes(), {}}, logger);
  value_or_fail(model.build(logger));
  calibration.save();
  const std::string found = calibration.found();
  if (found.empty()) fail("{}: has Quantize or Dequantize layers already", o.model);
  return found;
}

void quantize(const QuantizeOptions& o, Logger& logger) {
  if (o.build.calibration_cache.empty() && o.build.calibration_data.empty())
    fail("quantize: give samples with --calibData, or a calibration cache with --calib");
  std::string path = o.output;
  if (path.empty()) path = without_suffix(o.model) + "_int8.onnx";
  check_files({{"model", o.model}}, {{"-o", path}});
  o.common.apply(logger);
  const std::string cache = calibration_cache(o, logger);
  const auto model = tenon::quantize_model(logger, o.model, cache, o.kept_float);
  if (model == nullptr) fail_with_log(logger, "the model cannot be quantized");
  write_file(path, model->data(), model->size());
  fmt::print("{} -> {}  ({:.2f} MiB)\n", printable(o.model), printable(path),
             static_cast<double>(model->size()) / (1 << 20));
}

}  // namespace

void add_quantize(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<QuantizeOptions>();
  CLI::App* command = app.add_subcommand(
      "quantize", "Write an ONNX model in int8, with QuantizeLinear and DequantizeLinear");
  command->add_option("model", o->model, "The ONNX model")->required();
  command->add_option("-o,--output", o->output, "The model to write (default: NAME_int8.onnx)");
  command->add_option("--keepFloat", o->kept_float, "Nodes that stay in float, by name")
      ->delimiter(',');
  o->common.add_to(*command);
  o->build.add_to(*command);
  for (const char* option : {"--calib", "--calibData"})  // int8 is what this is for
    command->get_option(option)->remove_needs(command->get_option("--int8"));
  command->callback([o, &logger] { quantize(*o, logger); });
}

}  // namespace tenon::tool
