#include "measurement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenon::load {
namespace {

bool is_in(double time, Window window) {
  return time >= window.begin && time < window.end;
}

// By the nearest rank. Reorders the values.
double percentile_of(std::vector<double>& values, double percentile) {
  const auto rank = std::ceil(percentile / 100 * static_cast<double>(values.size()));
  const size_t index = std::clamp<size_t>(static_cast<size_t>(rank), 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(index), values.end());
  return values[index];
}

LatencySummary summary_of(std::vector<double>& values, const std::vector<double>& percentiles) {
  LatencySummary made;
  if (values.empty()) return made;
  made.mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  const auto [min, max] = std::ranges::minmax_element(values);
  made.min = *min;
  made.max = *max;
  for (const double one : percentiles)
    made.percentiles.emplace_back(one, percentile_of(values, one));
  return made;
}

}  // namespace

Measurement measure(const std::vector<Record>& records, Window window, Loop loop,
                    const std::vector<double>& percentiles) {
  Measurement made;
  std::vector<double> latencies, delays;
  size_t ended = 0;
  for (const Record& record : records) {
    const bool is_answered = record.outcome == Outcome::kAnswered;
    if (is_answered && is_in(record.done, window)) ++ended;
    if (!is_in(loop == Loop::kOpen ? record.intended : record.done, window)) continue;
    switch (record.outcome) {
      case Outcome::kAnswered:
        ++made.answered;
        break;
      case Outcome::kRefused:
        ++made.refused;
        break;
      case Outcome::kExpired:
        ++made.expired;
        break;
      case Outcome::kFailed:
        ++made.failed;
        break;
    }
    if (is_answered) latencies.push_back(record.done - record.intended);
    delays.push_back(record.sent - record.intended);
  }
  made.requests_per_second = static_cast<double>(ended) / (window.end - window.begin);
  made.latency = summary_of(latencies, percentiles);
  if (!delays.empty()) made.delay = percentile_of(delays, 99);
  return made;
}

bool is_stable(const std::array<Measurement, 3>& windows, double tolerance) {
  const auto agree = [&](auto value_of) {
    double mean = 0;
    for (const Measurement& window : windows) mean += value_of(window) / 3;
    return std::ranges::all_of(windows, [&](const Measurement& window) {
      return std::abs(value_of(window) - mean) <= tolerance * mean;
    });
  };
  return std::ranges::all_of(windows, [](const Measurement& one) { return one.answered > 0; })
         && agree([](const Measurement& one) { return one.requests_per_second; })
         && agree([](const Measurement& one) { return one.latency.mean; });
}

}  // namespace tenon::load
