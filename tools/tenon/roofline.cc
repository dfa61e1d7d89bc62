#include "roofline.h"

#include <fmt/format.h>
#include <tenon/describe.h>

#include <map>

#include "error.h"
#include "model.h"

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

RooflineRow sum_of(std::span<const RooflineRow> rows) {
  RooflineRow sum;
  for (const RooflineRow& row : rows) {
    sum.ms += row.ms;
    sum.operations += row.operations;
    sum.bytes += row.bytes;
  }
  return sum;
}

// Several layers need the sum of what each needs.
double min_ms_of(const Roofline& roofline, std::span<const RooflineRow> rows) {
  double sum = 0;
  for (const RooflineRow& row : rows) sum += roofline.min_ms(row);
  return sum;
}

// Those that take longest first.
std::vector<std::vector<RooflineRow>> by_kernel(const Roofline& roofline) {
  std::map<std::string, std::vector<RooflineRow>> groups;
  for (const RooflineRow& row : roofline.layers) groups[row.kernel].push_back(row);
  std::vector<std::vector<RooflineRow>> list;
  for (auto& [kernel, rows] : groups) list.push_back(std::move(rows));
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return sum_of(a).ms > sum_of(b).ms; });
  return list;
}

std::string line(const RooflineRow& row, double min_ms, double total_ms, const char* bound,
                 const std::string& title) {
  return fmt::format(
      "{:>10.3f} {:>6.1f} {:>9.3f} {:>9.2f} {:>8.1f} {:>9.1f} {:>7.1f} {:>8} {:>7.0f}   {}", row.ms,
      100 * ratio(row.ms, total_ms), row.operations / 1e9, row.bytes / 1e6,
      ratio(row.operations, row.bytes), ratio(row.operations, row.ms) / 1e6,
      ratio(row.bytes, row.ms) / 1e6, bound, 100 * ratio(min_ms, row.ms), title);
}

ordered_json to_json(const RooflineRow& row, double min_ms, double total_ms) {
  return {{"medianMs", row.ms},
          {"percentage", 100 * ratio(row.ms, total_ms)},
          {"operations", row.operations},
          {"bytes", row.bytes},
          {"operationsPerByte", ratio(row.operations, row.bytes)},
          {"operationsPerSecond", ratio(row.operations, row.ms) * 1e3},
          {"bytesPerSecond", ratio(row.bytes, row.ms) * 1e3},
          {"percentOfRoof", 100 * ratio(min_ms, row.ms)}};
}

}  // namespace

double Roofline::min_ms(const RooflineRow& row) const {
  return 1e3
         * std::max(ratio(row.operations, operations_per_second),
                    ratio(row.bytes, bytes_per_second));
}

bool Roofline::is_bound_by_memory(const RooflineRow& row) const {
  return ratio(row.bytes, bytes_per_second) >= ratio(row.operations, operations_per_second);
}

ordered_json work_of(nvinfer1::IExecutionContext& context, Logger& logger) {
  const tenon::Text text = tenon::describe_work(context);
  if (text == nullptr) fail_with_log(logger, "the layers' work cannot be told");
  return ordered_json::parse(
      std::string_view(static_cast<const char*>(text->data()), text->size()));
}

const ordered_json& timed_layers(const ordered_json& work, std::span<const LayerTimes> times) {
  const ordered_json& layers = work.at("layers");
  if (layers.size() != times.size())
    fail(ErrorClass::kInternal, "{} layers have times, and the plan has {}", times.size(),
         layers.size());
  return layers;
}

Roofline make_roofline(const ordered_json& work, std::span<const LayerTimes> times) {
  Roofline roofline{work["threads"], work["operationsPerSecond"], work["bytesPerSecond"], {}};
  const ordered_json& layers = timed_layers(work, times);
  for (size_t i = 0; i < times.size(); ++i)
    roofline.layers.push_back({layers[i]["name"], layers[i]["kind"], layers[i]["kernel"],
                               times[i].median(), layers[i]["operations"], layers[i]["bytes"]});
  return roofline;
}

void print_roofline(const Roofline& roofline, Logger& logger) {
  const double total = sum_of(roofline.layers).ms;
  logger.say(fmt::format("=== Roofline ({} thread{}: {:.1f} GFLOP/s, {:.1f} GB/s from memory) ===",
                         roofline.threads, roofline.threads == 1 ? "" : "s",
                         roofline.operations_per_second / 1e9, roofline.bytes_per_second / 1e9));
  const char* const units =
      "  Time(ms) Time(%)    GFLOP        MB   FLOP/B   GFLOP/s    GB/s    Bound Roof(%)   ";
  logger.say(fmt::format("{}Layer (kernel)", units));
  for (const RooflineRow& row : roofline.layers)
    logger.say(line(row, roofline.min_ms(row), total,
                    roofline.is_bound_by_memory(row) ? "memory" : "compute",
                    fmt::format("{} ({})", row.name, row.kernel)));
  logger.say(fmt::format("{}Kernel", units));
  for (const auto& rows : by_kernel(roofline))
    logger.say(line(
        sum_of(rows), min_ms_of(roofline, rows), total, "",
        fmt::format("{}, {} layer{}", rows[0].kernel, rows.size(), rows.size() == 1 ? "" : "s")));
  logger.say(
      line(sum_of(roofline.layers), min_ms_of(roofline, roofline.layers), total, "", "Total"));
}

ordered_json to_json(const Roofline& roofline) {
  const RooflineRow sum = sum_of(roofline.layers);
  ordered_json layers = ordered_json::array();
  for (const RooflineRow& row : roofline.layers) {
    ordered_json one = {{"name", row.name},
                        {"kind", row.kind},
                        {"kernel", row.kernel},
                        {"bound", roofline.is_bound_by_memory(row) ? "memory" : "compute"}};
    one.update(to_json(row, roofline.min_ms(row), sum.ms));
    layers.push_back(one);
  }
  return {{"threads", roofline.threads},
          {"operationsPerSecond", roofline.operations_per_second},
          {"bytesPerSecond", roofline.bytes_per_second},
          {"layers", layers},
          {"total", to_json(sum, min_ms_of(roofline, roofline.layers), sum.ms)}};
}

}  // namespace tenon::tool
