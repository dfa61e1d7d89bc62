// `tenon bench`: trtexec's measurement and summary, for a plan or an ONNX model.
#include "bench.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <tenon/gpu.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "engine_report.h"
#include "error.h"
#include "inputs.h"
#include "layer_times.h"
#include "npz.h"
#include "output_text.h"
#include "performance.h"
#include "profiles.h"
#include "refit.h"
#include "roofline.h"
#include "trace.h"
#include "weight_streaming.h"

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;
using Sessions = std::vector<std::unique_ptr<session::Session>>;

session::SessionOptions session_options(const BenchOptions& o) {
  using LayerMemory = session::SessionOptions::LayerMemory;
  return {.profile = o.profile,
          .layer_memory = o.layer_memory == "profile"   ? LayerMemory::kProfile
                          : o.layer_memory == "runtime" ? LayerMemory::kShapes
                                                        : LayerMemory::kAnyProfile,
          .is_managed = o.has_managed_memory};
}

// A session for each stream, with the same inputs.
Sessions make_sessions(const BenchOptions& o, const LoadedModel& model, Arrays arrays,
                       Logger& logger) {
  const Shapes shapes = run_shapes(o.build, o.profile, model.plan != nullptr);
  Sessions sessions;
  for (int i = 0; i < o.streams; ++i) {
    sessions.push_back(make_session(*model.engine, logger, session_options(o)));
    session::Session& session = *sessions.back();
    if (i == 0)
      for (auto& [name, array] :
           read_raw_inputs(o.load_inputs, *model.engine, session.input_names(), shapes))
        arrays[name] = std::move(array);
    set_inputs(session, arrays, shapes);
    fill_with_noise(session);
  }
  return sessions;
}

MeasureSettings measure_settings(const BenchOptions& o, bool on_gpu) {
  MeasureSettings settings = o.measure;
  settings.transfers = !o.skips_copies && !(o.has_managed_memory && on_gpu);
  settings.overlaps = on_gpu && !o.exposes_copies;
  return settings;
}

const char* enabled(bool is) {
  return is ? "Enabled" : "Disabled";
}

void print_options(const BenchOptions& o, const MeasureSettings& settings,
                   session::Session& session, Logger& logger) {
  logger.say("=== Model Options ===");
  logger.say(fmt::format("Model: {}", o.model));
  logger.say("=== Inference Options ===");
  logger.say(fmt::format("Iterations: {}", settings.iterations));
  logger.say(
      fmt::format("Duration: {:g}s (+ {:g}ms warm up)", settings.duration_s, settings.warm_up_ms));
  logger.say(fmt::format("Sleep time: {:g}ms", settings.sleep_ms));
  logger.say(fmt::format("Idle time: {:g}ms", settings.idle_ms));
  logger.say(fmt::format("Inference Streams: {}", o.streams));
  logger.say(fmt::format("ExposeDMA: {}", enabled(!settings.overlaps)));
  logger.say(fmt::format("Data transfers: {}", enabled(settings.transfers)));
  logger.say(fmt::format("Spin-wait: {}", enabled(settings.spins)));
  logger.say(fmt::format("Multithreading: {}", enabled(settings.threads)));
  logger.say(fmt::format("CUDA Graph: {}", enabled(settings.graph)));
  logger.say(fmt::format("Optimization {}", profile_text(session.context().engine(), o.profile)));
  for (const std::string& name : session.input_names())
    logger.say(
        fmt::format("Input {}: {}", name, session::shape_text(session.inputs().at(name).shape)));
}

void print_engine(const BenchOptions& o, const nvinfer1::ICudaEngine& engine,
                  nvinfer1::IExecutionContext* context, Logger& logger) {
  if (o.dump_layers) print_layers(engine, context, logger);
  if (!o.export_layers.empty()) export_layers(engine, context, o.export_layers, logger);
  if (o.dump_profiles) print_profiles(engine, logger);
}

void print_layer_profile(const BenchOptions& o, const LayerProfiler& profiler,
                         const ordered_json& layers, Logger& logger) {
  if (o.dump_profile) print_layer_times(profiler, logger);
  if (o.prints_kernels && !o.print_json) print_kernels(profiler, layers, logger);
  if (!o.export_profile.empty()) export_layer_times(profiler, o.export_profile);
}

std::string result_text(const BenchOptions& o, const LoadedModel& model,
                        const Measurement& measurement, const Performance& performance,
                        const std::optional<Roofline>& roofline) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  ordered_json result = {{"model", o.model},
                         {"profile", o.profile},
                         {"queries", measurement.queries.size()},
                         {"throughputQps", performance.queries_per_second},
                         {"loadSeconds", model.seconds},
                         {"peakResidentBytes", usage.ru_maxrss * 1024L},
                         {"latencyMs", to_json(performance.latency)},
                         {"enqueueMs", to_json(performance.enqueue)},
                         {"h2dMs", to_json(performance.h2d)},
                         {"computeMs", to_json(performance.compute)},
                         {"d2hMs", to_json(performance.d2h)}};
  if (roofline) result["roofline"] = to_json(*roofline);
  return result.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

// The outputs of the last query, which is the same in all streams.
void report_outputs(const BenchOptions& o, session::Session& session, bool transfers,
                    Logger& logger) {
  if (!o.wants_outputs()) return;
  if (!transfers) {
    value_or_fail(session.copy_out());
    value_or_fail(session.wait());
  }
  if (o.dump_outputs) print_outputs(session, logger);
  if (o.dump_raw) write_raw_tensors(session, logger);
  if (!o.export_outputs.empty()) export_outputs(session, o.export_outputs);
}

// Queries of their own, in which layers are timed.
std::optional<Roofline> run_profile(const BenchOptions& o, const Sessions& sessions,
                                    MeasureSettings settings, std::span<const Query> queries,
                                    const ordered_json& layers, Logger& logger) {
  LayerProfiler profiler;
  settings.iterations = static_cast<int>(std::min<size_t>(queries.size(), 50));
  settings.warm_up_ms = settings.duration_s = settings.sleep_ms = 0;
  measure({sessions.data(), 1}, settings, &profiler, logger);
  print_layer_profile(o, profiler, layers, logger);
  if (!o.roofline && o.export_trace.empty()) return std::nullopt;
  const ordered_json work = work_of(sessions[0]->context().get(), logger);
  if (!o.export_trace.empty()) {
    const std::string text = trace_of(queries, work, profiler);
    write_file(o.export_trace, text.data(), text.size());
  }
  return o.roofline ? std::optional(make_roofline(work, profiler.rows())) : std::nullopt;
}

void measure_and_report(const BenchOptions& o, const LoadedModel& model, const Sessions& sessions,
                        const MeasureSettings& settings, Logger& logger) {
  // What wants both the summary and the layers' times has them from different queries.
  const bool is_separate = o.has_profile_run || o.roofline || o.prints_kernels || o.print_json
                           || !o.json.empty() || !o.export_trace.empty();
  ordered_json layers;
  if (o.prints_kernels) layers = layer_details(sessions[0]->context().get(), logger);
  LayerProfiler profiler;
  const bool times_layers = o.times_layers() && !is_separate;
  const Measurement measurement =
      measure(sessions, settings, times_layers ? &profiler : nullptr, logger);
  const Performance performance(measurement, parse_percentiles(o.percentiles));
  if (!o.export_times.empty()) {
    const std::string text = to_json(measurement.queries).dump(2);
    write_file(o.export_times, text.data(), text.size());
  }
  if (times_layers)
    logger.say(
        "There is no summary, since timing each layer takes time, too: "
        "--separateProfileRun times layers in queries of their own");
  else if (!o.print_json)
    print_performance(measurement, performance, settings.warm_up_ms, o.average_runs,
                      sessions.size(), logger);
  report_outputs(o, *sessions[0], settings.transfers, logger);
  if (o.debug_tensors.are_set()) save_debug_tensors(*sessions[0], o.debug_tensors, logger);
  std::optional<Roofline> roofline;
  if (times_layers)
    print_layer_profile(o, profiler, layers, logger);
  else if (o.times_layers())
    roofline = run_profile(o, sessions, settings, measurement.queries, layers, logger);
  if (roofline && !o.print_json) print_roofline(*roofline, logger);
  const std::string text = result_text(o, model, measurement, performance, roofline);
  if (!o.json.empty()) write_file(o.json, text.data(), text.size());
  if (o.print_json) fmt::print("{}", text);
}

// Opens the plan as before, or the one that was built.
session::Engine load_again(const BenchOptions& o, const LoadedModel& model, Logger& logger) {
  const session::EngineOptions how = o.build.engine_options();
  return value_or_fail(model.plan != nullptr ? session::Engine::load(*model.plan, logger, how)
                       : o.streams_plan      ? session::Engine::stream(o.model, logger, how)
                                             : session::Engine::open(o.model, logger, how));
}

}  // namespace

void bench(BenchOptions& o, Logger& logger) {
  o.check();
  if (o.prints_kernels && o.build.verbosity == "layer_names_only") o.build.verbosity = "detailed";
  if (o.prints_version) return print_plan_version(o.model, logger);
  o.common.apply(logger);
  const Shapes shapes = parse_shapes("--shapes", o.build.shapes);
  RunInputs known{shapes, shapes};
  Arrays arrays = read_inputs(o.inputs, known);
  const LoadedModel model = load_model(o.model, o.build, known, logger, true, o.streams_plan);
  const bool on_gpu = tenon::gpu_of(*model.engine) >= 0;
  o.others.say([&] { return on_gpu; }, logger);
  if (o.roofline && on_gpu)
    fail(ErrorClass::kNotSupported,
         "--roofline: the peaks of a GPU are not known yet; --target=cpu builds for the CPU");
  if (!o.save_engine.empty()) write_file(o.save_engine, model.plan->data(), model.plan->size());
  if (o.dump_refit) print_refittable(*model.engine, logger);
  if (!o.refit_from.empty()) refit_from_onnx(*model.engine, o.refit_from, logger);
  if (!o.weight_budget.empty()) set_weight_budget(*model.engine, o.weight_budget, logger);
  if (o.times_refit)
    time_refit(*model.engine, o.refit_from.empty() ? o.model : o.refit_from, logger);
  if (o.skips_inference) {
    print_engine(o, *model.engine, nullptr, logger);
    return logger.say("Skipped inference phase since --skipInference is added.");
  }
  if (o.times_loading) return time_loading([&] { return load_again(o, model, logger); }, logger);
  const Sessions sessions = make_sessions(o, model, std::move(arrays), logger);
  const MeasureSettings settings = measure_settings(o, on_gpu);
  if (!o.print_json) print_options(o, settings, *sessions[0], logger);
  print_engine(o, *model.engine, &sessions[0]->context().get(), logger);
  measure_and_report(o, model, sessions, settings, logger);
}

void add_bench(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure a plan or an ONNX model");
  o->add_to(*command, false);
  command->callback([o, &logger] { bench(*o, logger); });
}

}  // namespace tenon::tool
