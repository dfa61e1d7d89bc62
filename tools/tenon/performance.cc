#include "performance.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>

#include "error.h"
#include "options.h"

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;

// trtexec's: the values above it are that part of all, rounded down, and it counts in float.
double at_percentile(const std::vector<double>& sorted, double percent) {
  const auto count = static_cast<float>(sorted.size());
  const auto above = static_cast<int64_t>((1 - static_cast<float>(percent) / 100) * count);
  return sorted[static_cast<size_t>(
      std::max<int64_t>(static_cast<int64_t>(sorted.size()) - 1 - above, 0))];
}

std::string line(const char* title, const Statistics& s) {
  std::string text =
      fmt::format("{}: min = {:.6g} ms, max = {:.6g} ms, mean = {:.6g} ms, median = {:.6g} ms",
                  title, s.min, s.max, s.mean, s.median);
  for (const auto& [percent, value] : s.percentiles)
    text += fmt::format(", percentile({:g}%) = {:.6g} ms", percent, value);
  return text;
}

// Averages of neighbouring queries; of very many, those at the begin and at the end.
void print_averages(std::span<const Query> queries, int runs, Logger& logger) {
  constexpr size_t kMaxLines = 200;
  logger.say("=== Trace details ===");
  logger.say(fmt::format("Trace averages of {} runs:", runs));
  const auto count = static_cast<size_t>(runs);
  const size_t lines = queries.size() / count;
  for (size_t i = 0; i < lines; ++i) {
    if (lines > 2 * kMaxLines && i == kMaxLines) {
      logger.say(fmt::format("... {} lines are left out", lines - 2 * kMaxLines));
      i = lines - kMaxLines;
    }
    double compute = 0, latency = 0, enqueue = 0;
    for (const Query& query : queries.subspan(i * count, count)) {
      compute += query.compute;
      latency += query.latency();
      enqueue += query.enqueue();
    }
    logger.say(
        fmt::format("Average on {} runs - GPU latency: {:.6g} ms - Host latency: {:.6g} ms "
                    "(enqueue {:.6g} ms)",
                    runs, compute / runs, latency / runs, enqueue / runs));
  }
}

void warn(const Performance& performance, size_t streams, Logger& logger) {
  const auto say = [&](const std::string& text) {
    logger.log(nvinfer1::ILogger::Severity::kWARNING, text.c_str());
  };
  constexpr double kUnstable = 2.5;  // percent
  if (performance.compute.variation > kUnstable)
    say(
        fmt::format("* GPU Compute Time varies from query to query: coefficient of variance = "
                    "{:.6g}%",
                    performance.compute.variation));
  if (streams > 1)
    say("* Queries of several streams share the device: Throughput says more than Latency does");
}

}  // namespace

Statistics statistics(std::vector<double> values, std::span<const double> percentiles) {
  Statistics s;
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  s.min = values.front();
  s.max = values.back();
  s.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  const size_t half = values.size() / 2;
  s.median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  double squares = 0;
  for (double value : values) squares += (value - s.mean) * (value - s.mean);
  s.variation = s.mean > 0 ? std::sqrt(squares / count) / s.mean * 100 : 0;
  for (double percent : percentiles)
    s.percentiles.emplace_back(percent, at_percentile(values, percent));
  return s;
}

std::vector<double> parse_percentiles(const std::string& text) {
  std::vector<double> values;
  for (const std::string& part : split(text, ',')) {
    double value = 0;
    const char* const end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), end, value);
    if (error != std::errc() || rest != end || !(value >= 0 && value <= 100))
      fail(ErrorClass::kOptions,
           "--percentile: '{}' is not a percentage; expected numbers from 0 to 100, as 90,99",
           part);
    values.push_back(value);
  }
  return values;
}

Performance::Performance(const Measurement& measurement, std::span<const double> percentiles) {
  const std::vector<Query>& queries = measurement.queries;
  const auto of = [&](const auto& part) {
    std::vector<double> values;
    for (const Query& query : queries) values.push_back(std::invoke(part, query));
    return statistics(std::move(values), percentiles);
  };
  double end = 0;
  for (const Query& query : queries) end = std::max(end, query.end());
  wall_ms = end - queries.front().h2d_start;
  queries_per_second = static_cast<double>(queries.size()) / wall_ms * 1e3;
  latency = of(&Query::latency);
  enqueue = of(&Query::enqueue);
  h2d = of(&Query::h2d);
  compute = of(&Query::compute);
  d2h = of(&Query::d2h);
}

void print_performance(const Measurement& measurement, const Performance& performance,
                       double warm_up_ms, int average_runs, size_t streams, Logger& logger) {
  const auto count = static_cast<double>(measurement.queries.size());
  logger.say(
      fmt::format("Warmup completed {} queries over {:g} ms", measurement.warm_ups, warm_up_ms));
  logger.say(fmt::format("Timing trace has {} queries over {:.6g} s", measurement.queries.size(),
                         performance.wall_ms / 1e3));
  logger.say("");
  print_averages(measurement.queries, average_runs, logger);
  logger.say("");
  logger.say("=== Performance summary ===");
  logger.say(fmt::format("Throughput: {:.6g} qps", performance.queries_per_second));
  logger.say(line("Latency", performance.latency));
  logger.say(line("Enqueue Time", performance.enqueue));
  logger.say(line("H2D Latency", performance.h2d));
  logger.say(line("GPU Compute Time", performance.compute));
  logger.say(line("D2H Latency", performance.d2h));
  logger.say(fmt::format("Total Host Walltime: {:.6g} s", performance.wall_ms / 1e3));
  logger.say(
      fmt::format("Total GPU Compute Time: {:.6g} s", performance.compute.mean * count / 1e3));
  warn(performance, streams, logger);
}

ordered_json to_json(std::span<const Query> queries) {
  ordered_json list = ordered_json::array();
  for (const Query& q : queries)
    list.push_back({{"startEnqMs", q.enqueue_start},
                    {"endEnqMs", q.enqueue_end},
                    {"startH2dMs", q.h2d_start},
                    {"endH2dMs", q.h2d_start + q.h2d},
                    {"startComputeMs", q.compute_start},
                    {"endComputeMs", q.compute_start + q.compute},
                    {"startD2hMs", q.d2h_start},
                    {"endD2hMs", q.end()},
                    {"h2dMs", q.h2d},
                    {"computeMs", q.compute},
                    {"d2hMs", q.d2h},
                    {"latencyMs", q.latency()}});
  return list;
}

ordered_json to_json(const Statistics& s) {
  ordered_json j = {{"min", s.min}, {"max", s.max}, {"mean", s.mean}, {"median", s.median}};
  for (const auto& [percent, value] : s.percentiles) j[fmt::format("p{:g}", percent)] = value;
  return j;
}

}  // namespace tenon::tool
