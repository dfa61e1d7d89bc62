#include "trace.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "roofline.h"

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;

constexpr int kQueries = 1, kLayers = 2;  // processes
constexpr size_t kMostQueries = 1000;     // what a page bears, and all look alike

void add_name(ordered_json& events, const char* of, int process, int track,
              const std::string& name) {
  events.push_back(
      {{"ph", "M"}, {"name", of}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}});
}

void add_bar(ordered_json& events, int process, int track, const std::string& name, double begin_ms,
             double ms, ordered_json arguments) {
  events.push_back({{"ph", "X"},
                    {"cat", process == kQueries ? "query" : "layer"},
                    {"name", name},
                    {"pid", process},
                    {"tid", track},
                    {"ts", begin_ms * 1e3},
                    {"dur", ms * 1e3},
                    {"args", std::move(arguments)}});
}

void add_queries(ordered_json& events, std::span<const Query> queries) {
  constexpr std::array kNames = {"enqueue", "copy in", "compute", "copy out"};
  add_name(events, "process_name", kQueries, 0, "queries");
  const size_t first = queries.size() - std::min(queries.size(), kMostQueries);
  std::set<int> tracks;
  for (size_t i = first; i < queries.size(); ++i) {
    const Query& q = queries[i];
    const std::array<std::pair<double, double>, kNames.size()> bars = {
        {{q.enqueue_start, q.enqueue()},
         {q.h2d_start, q.h2d},
         {q.compute_start, q.compute},
         {q.d2h_start, q.d2h}}};
    for (size_t k = 0; k < bars.size(); ++k) {
      const auto [begin, ms] = bars[k];
      if (ms <= 0) continue;  // nothing is copied
      const int track = q.stream * static_cast<int>(kNames.size()) + static_cast<int>(k);
      if (tracks.insert(track).second)
        add_name(events, "thread_name", kQueries, track,
                 fmt::format("stream {}: {}", q.stream, kNames[k]));
      add_bar(events, kQueries, track, kNames[k], begin, ms, {{"query", i}});
    }
  }
}

void add_layers(ordered_json& events, const ordered_json& work, const LayerProfiler& profiler) {
  const ordered_json& layers = timed_layers(work, profiler.rows());
  const size_t run = profiler.median_run();
  add_name(events, "process_name", kLayers, 0, "layers");
  std::map<int, double> ends;
  for (size_t i = 0; i < layers.size(); ++i) {
    const ordered_json& layer = layers[i];
    const int stream = layer["stream"];
    const auto [end, is_new] = ends.try_emplace(stream, 0);
    if (is_new)
      add_name(events, "thread_name", kLayers, stream,
               stream == 0 ? "layers" : fmt::format("stream {}", stream));
    const auto ms = static_cast<double>(profiler.rows()[i].ms[run]);
    add_bar(events, kLayers, stream, layer["name"], end->second, ms,
            {{"kind", layer["kind"]},
             {"kernel", layer["kernel"]},
             {"operations", layer["operations"]},
             {"bytes", layer["bytes"]}});
    end->second += ms;
  }
}

}  // namespace

std::string trace_of(std::span<const Query> queries, const ordered_json& work,
                     const LayerProfiler& profiler) {
  ordered_json events = ordered_json::array();
  add_queries(events, queries);
  add_layers(events, work, profiler);
  return ordered_json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(
      -1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tenon::tool
