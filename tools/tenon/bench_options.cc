#include "bench_options.h"

#include "error.h"
#include "model.h"
#include "performance.h"

namespace tenon::tool {

void BenchOptions::add_to(CLI::App& command, bool is_trtexec) {
  add_model(command, is_trtexec);
  add_measuring(command);
  add_reporting(command);
  common.add_to(command);
  build.add_to(command);
  others.add_to(command);
}

void BenchOptions::add_model(CLI::App& command, bool is_trtexec) {
  if (!is_trtexec) command.add_option("model", model, "A plan or an ONNX model");
  add_trtexec_option(command, "--onnx", onnx);
  add_trtexec_option(command, "--loadEngine", load_engine);
  add_trtexec_option(command, "--saveEngine", save_engine);
  add_trtexec_flag(command, "--asyncFileReader", streams_plan);
  add_trtexec_flag(command, "--getPlanVersionOnly", prints_version);
  add_trtexec_flag(command, "--skipInference", skips_inference);
  add_trtexec_flag(command, "--buildOnly", skips_inference);
  add_trtexec_flag(command, "--timeDeserialize", times_loading);
  command.add_option("--inputs", inputs, "Arrays for inputs: a NumPy .npz file (default: noise)");
  add_trtexec_option(command, "--loadInputs", load_inputs)->delimiter(',');
  add_trtexec_option(command, "--refitFromOnnx", refit_from);
  add_trtexec_flag(command, "--timeRefit", times_refit);
  add_trtexec_option(command, "--weightStreamingBudget", weight_budget);
  add_trtexec_option(command, "--useProfile", profile);
  add_trtexec_option(command, "--allocationStrategy", layer_memory)
      ->check(CLI::IsMember({"static", "profile", "runtime"}));
}

void BenchOptions::add_measuring(CLI::App& command) {
  constexpr double kDay = 86'400;  // seconds
  add_trtexec_option(command, "--iterations", measure.iterations)
      ->check(CLI::Range(1, 1'000'000'000));
  add_trtexec_option(command, "--warmUp", measure.warm_up_ms)->check(number_from(0, 1e3 * kDay));
  add_trtexec_option(command, "--duration", measure.duration_s)->check(number_from(-1, kDay));
  add_trtexec_option(command, "--sleepTime", measure.sleep_ms)->check(number_from(0, 1e3 * kDay));
  add_trtexec_option(command, "--idleTime", measure.idle_ms)->check(number_from(0, 1e3 * kDay));
  add_trtexec_option(command, "--infStreams", streams)->check(CLI::Range(1, 1024));
  add_trtexec_flag(command, "--threads", measure.threads);
  add_trtexec_flag(command, "--exposeDMA", exposes_copies);
  add_trtexec_flag(command, "--noDataTransfers", skips_copies);
  add_trtexec_flag(command, "--useManagedMemory", has_managed_memory);
  add_trtexec_flag(command, "--useSpinWait", measure.spins);
  add_trtexec_flag(command, "--useCudaGraph", measure.graph);
}

void BenchOptions::add_reporting(CLI::App& command) {
  add_trtexec_option(command, "--avgRuns", average_runs)->check(CLI::Range(1, 1'000'000'000));
  add_trtexec_option(command, "--percentile", percentiles);
  command.add_flag("--json", print_json, "Print the result as JSON, and nothing else");
  command.add_option("--exportJson", json, "Write the result as JSON to this file");
  add_trtexec_flag(command, "--dumpOutput", dump_outputs);
  add_trtexec_flag(command, "--dumpRawBindingsToFile", dump_raw);
  add_trtexec_flag(command, "--dumpProfile", dump_profile);
  add_trtexec_flag(command, "--dumpLayerInfo", dump_layers);
  add_trtexec_flag(command, "--dumpOptimizationProfile", dump_profiles);
  add_trtexec_flag(command, "--dumpRefit", dump_refit);
  add_trtexec_option(command, "--saveDebugTensors", debug_tensors.named)->delimiter(',');
  add_trtexec_option(command, "--saveAllDebugTensors", debug_tensors.formats)->delimiter(',');
  add_trtexec_flag(command, "--separateProfileRun", has_profile_run);
  command.add_flag("--layers", prints_kernels,
                   "Print each layer's time, kernel and, of convolutions, the error that the build "
                   "measured");
  command.add_flag(
      "--roofline", roofline,
      "Print what each layer reaches of this machine's peaks, measured on the spot, and bounds it. "
      "Operations are those of the layer's definition: a convolution's count as direct ones, also "
      "where the kernel is Winograd's, which may reach more than 100 %. Bytes are inputs, outputs "
      "and constants, once each; what lies in caches may come faster than from memory. CPU only");
  command.add_option(
      "--exportTrace", export_trace,
      "Write queries, and the layers of a run, as trace events to this file, for ui.perfetto.dev");
  add_trtexec_option(command, "--exportTimes", export_times);
  add_trtexec_option(command, "--exportOutput", export_outputs);
  add_trtexec_option(command, "--exportProfile", export_profile);
  add_trtexec_option(command, "--exportLayerInfo", export_layers);
}

void BenchOptions::check() {
  others.refuse();
  model = only_model({{"model", model}, {"--onnx", onnx}, {"--loadEngine", load_engine}});
  if (model.empty()) fail(ErrorClass::kOptions, "bench: name a plan or an ONNX model");
  if (measure.duration_s < 0 && measure.duration_s != -1)
    fail(ErrorClass::kOptions,
         "--duration={}: expected a number of seconds, or -1 to go on until the program is stopped",
         measure.duration_s);
  if (!weight_budget.empty() && !build.allows_weight_streaming)
    fail(ErrorClass::kOptions, "--weightStreamingBudget: needs --allowWeightStreaming");
  parse_percentiles(percentiles);
  std::vector<NamedFile> read = named_files("--plugins", common.plugins);
  for (const NamedFile& file : named_files("--loadInputs", load_inputs)) read.push_back(file);
  read.insert(read.end(),
              {{"model", model}, {"--inputs", inputs}, {"--refitFromOnnx", refit_from}});
  const char* const refits = times_refit ? "--timeRefit" : dump_refit ? "--dumpRefit" : nullptr;
  if (refits != nullptr && !is_plan(model) && !build.refit && !build.strips_all_weights)
    fail(ErrorClass::kOptions, "{}: the plan of {} is not refittable without --refit", refits,
         model);
  if (times_refit && is_plan(model) && refit_from.empty())
    fail(ErrorClass::kOptions,
         "--timeRefit: {} is a plan; name the model of the weights with --refitFromOnnx", model);
  debug_tensors.check();
  if (debug_tensors.are_set() && (skips_inference || times_loading))
    fail(ErrorClass::kOptions, "{}: debug tensors come from a run, and there is none with --{}",
         debug_tensors.named.empty() ? "--saveAllDebugTensors" : "--saveDebugTensors",
         skips_inference ? "skipInference" : "timeDeserialize");
  std::vector<NamedFile> written = named_files("--saveDebugTensors", debug_tensors.named);
  written.insert(written.end(), {{"--exportJson", json},
                                 {"--exportTrace", export_trace},
                                 {"--exportTimes", export_times},
                                 {"--exportOutput", export_outputs},
                                 {"--exportProfile", export_profile},
                                 {"--exportLayerInfo", export_layers},
                                 {"--saveEngine", save_engine},
                                 {"--timingCacheFile", build.timing_cache}});
  if (debug_tensors.has_summary()) written.push_back({"--saveAllDebugTensors", kDebugSummaryFile});
  check_files(read, written);
  if (!save_engine.empty() && is_plan(model))
    fail(ErrorClass::kOptions, "--saveEngine: {} is a plan already; give it with an ONNX model",
         model);
  if (streams_plan && !is_plan(model))
    fail(ErrorClass::kPlan, "--asyncFileReader: {} is no plan, which is what it reads", model);
}

}  // namespace tenon::tool
