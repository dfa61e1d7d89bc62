// `tenon bench`: trtexec's measurement and summary, for a plan or an ONNX model.
#include <fmt/format.h>
#include <sys/resource.h>
#include <tenon/gpu.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "commands.h"
#include "error.h"
#include "inputs.h"
#include "layer_times.h"
#include "npz.h"
#include "profiles.h"
#include "roofline.h"

namespace tenon::tool {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

struct BenchOptions {
  std::string model, onnx, load_engine, inputs, json, export_profile, export_times;
  int iterations = 10, warm_up_ms = 200, average_runs = 10, profile = 0;
  double duration_s = 3;
  std::string percentiles = "90,95,99";
  bool print_json = false, dump_profile = false, roofline = false;
  CommonOptions common;
  BuildOptions build;
};

// One query; times in milliseconds since the first began.
struct Query {
  double start, in_done, enqueued, computed, out_done;
  double h2d() const { return in_done - start; }
  double enqueue() const { return enqueued - in_done; }
  double compute() const { return computed - in_done; }
  double d2h() const { return out_done - computed; }
  double latency() const { return out_done - start; }
};

struct Statistics {
  double min = 0, max = 0, mean = 0, median = 0;
  std::vector<std::pair<double, double>> percentiles;
};

double at_percentile(const std::vector<double>& sorted, double percent) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(std::lround(last * percent / 100))];
}

Statistics statistics(std::vector<double> values, const std::vector<double>& percentiles) {
  Statistics s;
  std::sort(values.begin(), values.end());
  s.min = values.front();
  s.max = values.back();
  s.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  const size_t half = values.size() / 2;
  s.median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  for (double p : percentiles) s.percentiles.emplace_back(p, at_percentile(values, p));
  return s;
}

std::string line(const char* title, const Statistics& s) {
  std::string text =
      fmt::format("{}: min = {:.6g} ms, max = {:.6g} ms, mean = {:.6g} ms, median = {:.6g} ms",
                  title, s.min, s.max, s.mean, s.median);
  for (const auto& [percent, value] : s.percentiles)
    text += fmt::format(", percentile({:g}%) = {:.6g} ms", percent, value);
  return text;
}

ordered_json to_json(const Statistics& s) {
  ordered_json j = {{"min", s.min}, {"max", s.max}, {"mean", s.mean}, {"median", s.median}};
  for (const auto& [percent, value] : s.percentiles) j[fmt::format("p{:g}", percent)] = value;
  return j;
}

std::vector<double> parse_percentiles(const std::string& text) {
  std::vector<double> values;
  for (const std::string& part : CLI::detail::split(text, ',')) {
    double value = 0;
    const char* const end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), end, value);
    if (error != std::errc() || rest != end || !(value >= 0 && value <= 100))
      fail("--percentile: '{}' is not a percentage; expected numbers from 0 to 100, as 90,99",
           part);
    values.push_back(value);
  }
  return values;
}

std::vector<Query> measure(session::Session& session, const BenchOptions& o) {
  const auto first = Clock::now();
  const auto now = [&] {
    return std::chrono::duration<double, std::milli>(Clock::now() - first).count();
  };
  const auto once = [&] {
    Query q{};
    q.start = now();
    value_or_fail(session.copy_in());
    value_or_fail(session.wait());
    q.in_done = now();
    value_or_fail(session.enqueue());
    q.enqueued = now();
    value_or_fail(session.wait());
    q.computed = now();
    value_or_fail(session.copy_out());
    value_or_fail(session.wait());
    q.out_done = now();
    return q;
  };
  once();
  while (now() < o.warm_up_ms) once();
  std::vector<Query> queries;
  const double begin = now();
  while (queries.size() < static_cast<size_t>(o.iterations) || now() - begin < o.duration_s * 1e3)
    queries.push_back(once());
  return queries;
}

void print_options(const BenchOptions& o, session::Session& session, Logger& logger) {
  logger.say("=== Inference BenchOptions ===");
  logger.say(fmt::format("Iterations: {}, warm-up: {} ms, duration: {} s, streams: 1", o.iterations,
                         o.warm_up_ms, o.duration_s));
  logger.say(fmt::format("Optimization {}", profile_text(session.context().engine(), o.profile)));
  for (const std::string& name : session.input_names())
    logger.say(
        fmt::format("Input {}: {}", name, session::shape_text(session.inputs().at(name).shape)));
}

// Per-layer times, summed over runs.
void print_profile(const LayerProfiler& profiler, size_t runs, const BenchOptions& o,
                   Logger& logger) {
  double total = 0;
  std::vector<std::pair<double, const LayerTimes*>> rows;
  for (const auto& row : profiler.rows()) {
    rows.emplace_back(row.sum(), &row);
    total += row.sum();
  }
  if (o.dump_profile) {
    logger.say(fmt::format("=== Profile ({} iterations ) ===", runs));
    logger.say("   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer");
    for (const auto& [ms, row] : rows)
      logger.say(fmt::format("{:>11.2f} {:>12.4f} {:>12.4f} {:>9.1f}   {}", ms,
                             ms / static_cast<double>(runs), row->median(), 100 * ms / total,
                             row->name));
    logger.say(fmt::format("{:>11.2f} {:>12.4f} {:>12.4f} {:>9.1f}   Total", total,
                           total / static_cast<double>(runs), total / static_cast<double>(runs),
                           100.0));
  }
  if (o.export_profile.empty()) return;
  ordered_json list = ordered_json::array({{{"count", runs}}});
  for (const auto& [ms, row] : rows)
    list.push_back({{"name", row->name},
                    {"timeMs", ms},
                    {"averageMs", ms / static_cast<double>(runs)},
                    {"medianMs", row->median()},
                    {"percentage", 100 * ms / total}});
  const std::string text = list.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  write_file(o.export_profile, text.data(), text.size());
}

void export_times(const std::vector<Query>& queries, const std::string& path) {
  ordered_json list = ordered_json::array();
  for (const Query& q : queries)
    list.push_back({{"startEnqMs", q.in_done},
                    {"endEnqMs", q.enqueued},
                    {"startH2dMs", q.start},
                    {"endH2dMs", q.in_done},
                    {"startComputeMs", q.in_done},
                    {"endComputeMs", q.computed},
                    {"startD2hMs", q.computed},
                    {"endD2hMs", q.out_done},
                    {"h2dMs", q.h2d()},
                    {"computeMs", q.compute()},
                    {"d2hMs", q.d2h()},
                    {"latencyMs", q.latency()}});
  const std::string text = list.dump(2);
  write_file(path, text.data(), text.size());
}

void summarise(const std::vector<Query>& queries, const std::optional<Roofline>& roofline,
               const BenchOptions& o, const LoadedModel& model, Logger& logger) {
  const auto percentiles = parse_percentiles(o.percentiles);
  const auto of = [&](double (Query::*part)() const) {
    std::vector<double> values;
    for (const Query& q : queries) values.push_back((q.*part)());
    return statistics(values, percentiles);
  };
  const auto latency = of(&Query::latency), enqueue = of(&Query::enqueue), h2d = of(&Query::h2d),
             compute = of(&Query::compute), d2h = of(&Query::d2h);
  const double wall = (queries.back().out_done - queries.front().start) / 1e3;
  const double throughput = static_cast<double>(queries.size()) / wall;
  double compute_total = 0;
  for (const Query& q : queries) compute_total += q.compute() / 1e3;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  if (o.print_json || !o.json.empty()) {
    ordered_json result = {{"model", o.model},
                           {"profile", o.profile},
                           {"queries", queries.size()},
                           {"throughputQps", throughput},
                           {"loadSeconds", model.seconds},
                           {"peakResidentBytes", usage.ru_maxrss * 1024L},
                           {"latencyMs", to_json(latency)},
                           {"enqueueMs", to_json(enqueue)},
                           {"h2dMs", to_json(h2d)},
                           {"computeMs", to_json(compute)},
                           {"d2hMs", to_json(d2h)}};
    if (roofline) result["roofline"] = to_json(*roofline);
    const std::string text =
        result.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    if (!o.json.empty()) write_file(o.json, text.data(), text.size());
    if (o.print_json) {
      fmt::print("{}", text);
      return;
    }
  }
  logger.say("=== Performance summary ===");
  logger.say(fmt::format("Throughput: {:.6g} qps", throughput));
  logger.say(line("Latency", latency));
  logger.say(line("Enqueue Time", enqueue));
  logger.say(line("H2D Latency", h2d));
  logger.say(line("GPU Compute Time", compute));
  logger.say(line("D2H Latency", d2h));
  logger.say(fmt::format("Total Host Walltime: {:.6g} s", wall));
  logger.say(fmt::format("Total GPU Compute Time: {:.6g} s", compute_total));
}

void run(BenchOptions& o, Logger& logger) {
  o.model = only_model({{"model", o.model}, {"--onnx", o.onnx}, {"--loadEngine", o.load_engine}});
  if (o.model.empty()) fail("bench: name a plan or an ONNX model");
  parse_percentiles(o.percentiles);
  std::vector<NamedFile> read = named_files("--plugins", o.common.plugins);
  read.insert(read.end(), {{"model", o.model}, {"--inputs", o.inputs}});
  check_files(read, {{"--exportJson", o.json},
                     {"--exportProfile", o.export_profile},
                     {"--exportTimes", o.export_times},
                     {"--timingCacheFile", o.build.timing_cache}});
  o.common.apply(logger);
  Arrays arrays;
  Shapes shapes = parse_shapes("--shapes", o.build.shapes);
  RunInputs known{shapes, shapes};
  if (!o.inputs.empty())
    for (auto& [name, array] : read_npz(o.inputs)) {
      if (name.starts_with("out:")) continue;
      const std::string input = name.starts_with("in:") ? name.substr(3) : name;
      known.add(input, array);
      arrays[input] = std::move(array);
    }
  const LoadedModel model = load_model(o.model, o.build, known, logger, true);
  if (o.roofline && tenon::gpu_of(*model.engine) >= 0)
    fail("--roofline: the peaks of a GPU are not known yet; --target=cpu builds for the CPU");
  const auto session = make_session(*model.engine, logger, o.profile);
  set_inputs(*session, arrays, shapes);
  fill_with_noise(*session);
  if (!o.print_json) print_options(o, *session, logger);

  const auto queries = measure(*session, o);
  if (!o.export_times.empty()) export_times(queries, o.export_times);
  std::optional<Roofline> roofline;
  if (o.dump_profile || !o.export_profile.empty() || o.roofline) {
    LayerProfiler profiler;
    nvinfer1::IExecutionContext& context = session->context().get();
    context.setProfiler(&profiler);
    const size_t runs = std::min<size_t>(queries.size(), 50);
    for (size_t i = 0; i < runs; ++i) {
      profiler.next_run();
      value_or_fail(session->run());
    }
    context.setProfiler(nullptr);
    print_profile(profiler, runs, o, logger);
    if (o.roofline) roofline = make_roofline(context, profiler.rows(), logger);
  }
  if (roofline && !o.print_json) print_roofline(*roofline, logger);
  summarise(queries, roofline, o, model, logger);
}

}  // namespace

void add_bench(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure a plan or an ONNX model");
  command->add_option("model", o->model, "A plan or an ONNX model");
  command->add_option("--onnx", o->onnx, "An ONNX model, trtexec's way");
  command->add_option("--loadEngine", o->load_engine, "A plan, trtexec's way");
  command->add_option("--inputs", o->inputs,
                      "Arrays for inputs: a NumPy .npz file (default: noise)");
  command->add_option("--iterations", o->iterations, "Run at least so often (default 10)")
      ->check(CLI::Range(1, 1'000'000'000));
  command->add_option("--warmUp", o->warm_up_ms, "Milliseconds before measuring (default 200)")
      ->check(CLI::Range(0, 600'000));
  command->add_option("--duration", o->duration_s, "Seconds to measure at least (default 3)")
      ->check(number_from(0, 86'400));
  command->add_option("--avgRuns", o->average_runs, "Accepted for scripts; changes nothing")
      ->group("");
  command->add_option("--percentile", o->percentiles, "Percentiles to print (default 90,95,99)");
  command->add_option("--useProfile", o->profile, "The optimization profile to run in (default 0)");
  command->add_flag("--json", o->print_json, "Print the result as JSON, and nothing else");
  command->add_option("--exportJson", o->json, "Write the result as JSON to this file");
  command->add_flag("--dumpProfile", o->dump_profile, "Print the time of each layer");
  command->add_flag(
      "--roofline", o->roofline,
      "Print what each layer reaches of this machine's peaks, measured on the spot, and bounds it. "
      "Operations are those of the layer's definition: a convolution's count as direct ones, also "
      "where the kernel is Winograd's, which may reach more than 100 %. Bytes are inputs, outputs "
      "and constants, once each; what lies in caches may come faster than from memory. CPU only");
  command->add_option("--exportProfile", o->export_profile, "Write the time of each layer as JSON");
  command->add_option("--exportTimes", o->export_times, "Write the times of each query as JSON");
  o->common.add_to(*command);
  o->build.add_to(*command);
  add_ignored_options(*command, logger);
  command->callback([o, &logger] { run(*o, logger); });
}

}  // namespace tenon::tool
