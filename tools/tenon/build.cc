// `tenon build`: an ONNX model in, a plan file out.
#include <fmt/format.h>

#include <chrono>

#include "builder_settings.h"
#include "commands.h"
#include "engine_report.h"
#include "error.h"
#include "files.h"
#include "model.h"
#include "npz.h"
#include "quantization.h"
#include "trtexec_options.h"

namespace tenon::tool {
namespace {

struct Options {
  std::string model, onnx, plan, export_layers;
  bool skips_inference = false, dump_layers = false, dump_profiles = false;
  CommonOptions common;
  BuildOptions build;
  QuantizationOptions quantization;
  OtherOptions others;

  void add_to(CLI::App& command);
  bool describes() const { return dump_layers || dump_profiles || !export_layers.empty(); }
};

void Options::add_to(CLI::App& command) {
  command.add_option("model", model, "The ONNX model");
  add_trtexec_option(command, "--onnx", onnx);
  add_trtexec_option(command, "--saveEngine", plan, "-o,")
      ->description("The plan to write (default: the model's name)");
  add_trtexec_flag(command, "--skipInference", skips_inference)
      ->description("What this command does in any case");
  add_trtexec_flag(command, "--buildOnly", skips_inference);
  add_trtexec_flag(command, "--dumpLayerInfo", dump_layers);
  add_trtexec_option(command, "--exportLayerInfo", export_layers);
  add_trtexec_flag(command, "--dumpOptimizationProfile", dump_profiles);
  common.add_to(command);
  build.add_to(command);
  quantization.add_to(command);
  others.add_to(command);
}

void describe(const Options& o, const nvinfer1::IHostMemory& plan, Logger& logger) {
  if (!o.describes()) return;
  const session::Engine loaded =
      value_or_fail(session::Engine::load(plan, logger, o.build.engine_options()));
  if (o.dump_layers) print_layers(*loaded.engine, nullptr, logger);
  if (!o.export_layers.empty()) export_layers(*loaded.engine, nullptr, o.export_layers, logger);
  if (o.dump_profiles) print_profiles(*loaded.engine, logger);
}

// With options that say what is quantized the model becomes one with QuantizeLinear first.
std::unique_ptr<nvinfer1::IHostMemory> plan_of(const std::string& model, const Options& o,
                                               Logger& logger) {
  if (!o.quantization.given()) return build_plan(model, o.build, {}, logger, false);
  // Shapes that are missing are said before the search, which takes long.
  parse_model(model, without_calibration(o.build), {}, logger);
  const auto quantized = quantized_model(model, o.quantization, o.build, logger);
  return build_plan(bytes_of(*quantized), without_calibration(o.build), {}, logger, false);
}

void check_quantization(const Options& o) {
  if (!o.quantization.given()) return;
  if (!o.build.int8 && !o.build.best)
    fail(ErrorClass::kOptions,
         "build: --maxLoss, --keepFloat and the like say what int8 is for: give --int8, too");
  if (o.build.calibration_cache.empty() && o.build.calibration_data.empty())
    fail(ErrorClass::kOptions,
         "build: --maxLoss, --keepFloat and the like quantize the model: give samples with "
         "--calibData, or a calibration cache with --calib");
}

void build(const Options& o, Logger& logger) {
  o.others.refuse();
  check_quantization(o);
  const std::string model = only_model({{"model", o.model}, {"--onnx", o.onnx}});
  if (model.empty())
    fail(ErrorClass::kOptions,
         "build: name an ONNX model, as `tenon build model.onnx -o model.plan`");
  std::string path = o.plan;
  if (path.empty()) path = without_suffix(model) + ".plan";
  std::vector<NamedFile> read = named_files("--plugins", o.common.plugins);
  read.push_back({"model", model});
  check_files(read, {{"-o", path},
                     {"--timingCacheFile", o.build.timing_cache},
                     {"--exportLayerInfo", o.export_layers},
                     {"--exportKeptFloat", o.quantization.exported}});
  o.common.apply(logger);
  o.others.say([&] { return builds_for_gpu(o.build, logger); }, logger);
  const auto start = std::chrono::steady_clock::now();
  const auto plan = plan_of(model, o, logger);
  write_file(path, plan->data(), plan->size());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const size_t profiles = o.build.profiles.size();
  fmt::print("{} -> {}  ({:.2f} MiB{}, {:.2f} s)\n", model, path,
             static_cast<double>(plan->size()) / (1 << 20),
             profiles > 1 ? fmt::format(", {} profiles", profiles) : "", took.count());
  describe(o, *plan, logger);
}

}  // namespace

void add_build(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("build", "Build a plan from an ONNX model");
  o->add_to(*command);
  command->callback([o, &logger] { build(*o, logger); });
}

}  // namespace tenon::tool
