// `tenon quantize`: an ONNX model and samples in, an explicitly quantized ONNX model out.
#include <fmt/format.h>
#include <tenon/onnx.h>

#include <map>

#include "commands.h"
#include "error.h"
#include "files.h"
#include "npz.h"
#include "quantization.h"

namespace tenon::tool {
namespace {

struct QuantizeOptions {
  std::string model, output;
  int weight_bits = 0;  // of --weightOnly; 0 without it
  int64_t group_size = edit::WeightQuantization().group;
  QuantizationOptions quantization;
  CommonOptions common;
  BuildOptions build;
};

// Weights alone, which takes no samples.
void quantize_weights(const QuantizeOptions& o, Logger& logger) {
  const std::string path =
      o.output.empty() ? fmt::format("{}_int{}.onnx", without_suffix(o.model), o.weight_bits)
                       : o.output;
  check_files({{"model", o.model}}, {{"-o", path}});
  o.common.apply(logger);
  const std::vector<std::string> kept = o.quantization.kept_nodes();
  auto model = edit::Model::load(o.model);
  const auto report =
      edit::quantize_weights(model, {o.weight_bits, o.group_size, {kept.begin(), kept.end()}});
  if (report.products == 0)
    fail(ErrorClass::kNotInModel, "{}: has no MatMul or Gemm with constant float weights",
         printable(o.model));
  model.save(path);
  constexpr double kMebibyte = 1 << 20;
  fmt::print("{} -> {}  (weights of {} products: {:.1f} -> {:.1f} MiB)\n", printable(o.model),
             printable(path), report.products, static_cast<double>(report.bytes_before) / kMebibyte,
             static_cast<double>(report.bytes_after) / kMebibyte);
}

void quantize(const QuantizeOptions& o, Logger& logger) {
  if (o.weight_bits != 0) return quantize_weights(o, logger);
  if (o.build.calibration_cache.empty() && o.build.calibration_data.empty())
    fail(ErrorClass::kOptions,
         "quantize: give samples with --calibData, or a calibration cache with --calib");
  std::string path = o.output;
  if (path.empty()) path = without_suffix(o.model) + (o.build.fp8 ? "_fp8.onnx" : "_int8.onnx");
  check_files({{"model", o.model}}, {{"-o", path}, {"--exportKeptFloat", o.quantization.exported}});
  o.common.apply(logger);
  const auto model = quantized_model(o.model, o.quantization, o.build, logger);
  write_file(path, model->data(), model->size());
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

}  // namespace

void add_quantize(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<QuantizeOptions>();
  CLI::App* command = app.add_subcommand("quantize",
                                         "Write an ONNX model in int8, or with --fp8 in fp8, with "
                                         "QuantizeLinear and DequantizeLinear");
  command->add_option("model", o->model, "The ONNX model")->required();
  command->add_option("-o,--output", o->output,
                      "The model to write (default: NAME_int8.onnx or NAME_fp8.onnx)");
  o->quantization.add_to(*command);
  o->common.add_to(*command);
  o->build.add_to(*command);
  for (const char* option : {"--calib", "--calibData"})  // int8 is what this is for
    command->get_option(option)->remove_needs(command->get_option("--int8"));
  add_weight_only(*command, *o);
  command->callback([o, &logger] { quantize(*o, logger); });
}

}  // namespace tenon::tool
