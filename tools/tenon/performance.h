// What measured queries say, in trtexec's words and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "logger.h"
#include "measure.h"

namespace tenon::tool {

struct Statistics {
  double min = 0, max = 0, mean = 0, median = 0;
  double variation = 0;  // the standard deviation in percent of the mean
  std::vector<std::pair<double, double>> percentiles;
};

/// @param values at least one.
/// @param percentiles from 0 to 100, as trtexec rounds them to one of the values.
Statistics statistics(std::vector<double> values, std::span<const double> percentiles);

/// "90,95,99". Throws Failure.
std::vector<double> parse_percentiles(const std::string& text);

/// The performance summary of a measurement.
struct Performance {
  Performance(const Measurement& measurement, std::span<const double> percentiles);

  double wall_ms = 0;  // from the first query's begin to the last one's end
  double queries_per_second = 0;
  Statistics latency, enqueue, h2d, compute, d2h;
};

/// Prints the trace's averages over `average_runs` queries each, and the summary.
/// @param streams queries were made in.
void print_performance(const Measurement& measurement, const Performance& performance,
                       double warm_up_ms, int average_runs, size_t streams, Logger& logger);

/// The times of every query.
nlohmann::ordered_json to_json(std::span<const Query> queries);
nlohmann::ordered_json to_json(const Statistics& statistics);

}  // namespace tenon::tool
