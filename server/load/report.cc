#include "report.h"

#include <fmt/format.h>

namespace tenon::load {
namespace {

using nlohmann::ordered_json;

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAnswered:
      return "answered";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kExpired:
      return "expired";
    case Outcome::kFailed:
      break;
  }
  return "failed";
}

}  // namespace

std::string table_head(Loop loop, const std::vector<double>& percentiles) {
  std::string text =
      fmt::format("{:>11} {:>10} {:>10} {:>9}", loop == Loop::kOpen ? "requests/s" : "concurrency",
                  "answers/s", "items/s", "mean ms");
  for (const double one : percentiles) text += fmt::format(" {:>9}", fmt::format("p{}", one));
  return text
         + fmt::format(" {:>9} {:>9} {:>8} {:>8} {:>8}", "answered", "refused", "expired", "failed",
                       "windows");
}

std::string table_row(const LevelResult& result, int64_t batch) {
  const Measurement& made = result.measurement;
  std::string text = fmt::format(
      "{:>11} {:>10.1f} {:>10.1f} {:>9.3f}", result.level.value, made.requests_per_second,
      made.requests_per_second * static_cast<double>(batch), made.latency.mean * 1e3);
  for (const auto& [percentile, value] : made.latency.percentiles)
    text += fmt::format(" {:>9.3f}", value * 1e3);
  text += fmt::format(" {:>9} {:>9} {:>8} {:>8} {:>8}", made.answered, made.refused, made.expired,
                      made.failed, result.windows);
  if (!result.is_stable) text += "  not stable";
  return text;
}

ordered_json to_json(const LevelResult& result, int64_t batch) {
  const Measurement& made = result.measurement;
  ordered_json latency = {{"min", made.latency.min * 1e3},
                          {"max", made.latency.max * 1e3},
                          {"mean", made.latency.mean * 1e3}};
  for (const auto& [percentile, value] : made.latency.percentiles)
    latency[fmt::format("p{}", percentile)] = value * 1e3;
  return {{result.level.loop == Loop::kOpen ? "requestRate" : "concurrency", result.level.value},
          {"answersPerSecond", made.requests_per_second},
          {"itemsPerSecond", made.requests_per_second * static_cast<double>(batch)},
          {"latencyMs", std::move(latency)},
          {"sendDelayP99Ms", made.delay * 1e3},
          {"answered", made.answered},
          {"refused", made.refused},
          {"expired", made.expired},
          {"failed", made.failed},
          {"firstFailure", result.first_failure},
          {"windows", result.windows},
          {"isStable", result.is_stable}};
}

ordered_json times_json(const LevelResult& result) {
  ordered_json list = ordered_json::array();
  for (const Record& record : result.requests)
    list.push_back({{"intendedMs", record.intended * 1e3},
                    {"sentMs", record.sent * 1e3},
                    {"endMs", record.done * 1e3},
                    {"outcome", name_of(record.outcome)}});
  return list;
}

}  // namespace tenon::load
