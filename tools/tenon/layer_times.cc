#include "layer_times.h"

#include <fmt/format.h>

#include "engine_report.h"
#include "error.h"
#include "npz.h"

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;

// All layers together, run by run.
LayerTimes total_of(const LayerProfiler& profiler) {
  LayerTimes total{"Total", std::vector<float>(profiler.runs())};
  for (const LayerTimes& row : profiler.rows())
    for (size_t i = 0; i < total.ms.size(); ++i) total.ms[i] += row.ms[i];
  return total;
}

double percentage(const LayerTimes& row, const LayerTimes& total) {
  return total.sum() > 0 ? 100 * row.sum() / total.sum() : 0;
}

}  // namespace

size_t LayerProfiler::median_run() const {
  std::vector<std::pair<double, size_t>> sums(runs());
  for (size_t run = 0; run < sums.size(); ++run) {
    sums[run].second = run;
    for (const LayerTimes& layer : rows_) sums[run].first += static_cast<double>(layer.ms[run]);
  }
  std::sort(sums.begin(), sums.end());
  return sums.empty() ? 0 : sums[sums.size() / 2].second;
}

void print_layer_times(const LayerProfiler& profiler, Logger& logger) {
  const LayerTimes total = total_of(profiler);
  const auto runs = static_cast<double>(profiler.runs());
  const auto say = [&](const LayerTimes& row) {
    logger.say(fmt::format("{:>11.2f} {:>12.4f} {:>12.4f} {:>9.1f}   {}", row.sum(),
                           row.sum() / runs, row.median(), percentage(row, total), row.name));
  };
  logger.say(fmt::format("=== Profile ({} iterations ) ===", profiler.runs()));
  logger.say("   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer");
  for (const LayerTimes& row : profiler.rows()) say(row);
  if (profiler.runs() > 0) say(total);
}

ordered_json layer_details(nvinfer1::IExecutionContext& context, Logger& logger) {
  ordered_json layers = ordered_json::parse(layers_json(context, logger))["Layers"];
  if (layers.empty() || !layers[0].is_object())
    fail(ErrorClass::kNotInModel,
         "--layers: the plan has no details: build it with --profilingVerbosity=detailed");
  return layers;
}

void print_kernels(const LayerProfiler& profiler, const ordered_json& layers, Logger& logger) {
  const LayerTimes total = total_of(profiler);
  logger.say("=== Layers ===");
  logger.say("  Median(ms)   Time(%)   Largest error   RMS error   Layer (kernel)");
  const auto error = [](const ordered_json& layer, const char* name) {
    return layer.contains(name) ? fmt::format("{:.2e}", layer[name].get<double>()) : "";
  };
  for (size_t i = 0; i < profiler.rows().size(); ++i) {
    const LayerTimes& row = profiler.rows()[i];
    const ordered_json& layer = layers.at(i);
    logger.say(fmt::format("{:>12.4f} {:>9.1f} {:>15} {:>11}   {} ({})", row.median(),
                           percentage(row, total), error(layer, "LargestError"),
                           error(layer, "RmsError"), row.name,
                           layer["TacticName"].get<std::string>()));
  }
  logger.say(
      "Errors are parts of the range of a convolution's results, which the build measured on its "
      "weights");
}

void export_layer_times(const LayerProfiler& profiler, const std::string& path) {
  const LayerTimes total = total_of(profiler);
  const auto runs = static_cast<double>(profiler.runs());
  ordered_json list = ordered_json::array({{{"count", profiler.runs()}}});
  for (const LayerTimes& row : profiler.rows())
    list.push_back({{"name", row.name},
                    {"timeMs", row.sum()},
                    {"averageMs", row.sum() / runs},
                    {"medianMs", row.median()},
                    {"percentage", percentage(row, total)}});
  const std::string text = list.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  write_file(path, text.data(), text.size());
}

}  // namespace tenon::tool
