#include "trace.h"

#include <gmock/gmock.h>

#include "error.h"

namespace tenon::tool {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Two layers in the caller's stream, and one beside them.
ordered_json work() {
  const auto layer = [](const char* name, int stream) {
    return ordered_json{{"name", name},    {"kind", "Convolution"}, {"kernel", "direct"},
                        {"operations", 6}, {"bytes", 24},           {"stream", stream}};
  };
  return {{"layers", {layer("a", 0), layer("\xff", 1), layer("c", 0)}}};
}

LayerProfiler profiler() {
  LayerProfiler profiler;
  for (const float ms : {9.f, 2.f, 4.f}) {  // the median run is the last one
    profiler.next_run();
    for (const char* name : {"a", "\xff", "c"}) profiler.reportLayerTime(name, ms);
  }
  return profiler;
}

json events_of(std::span<const Query> queries) {
  return json::parse(trace_of(queries, work(), profiler()))["traceEvents"];
}

// "process/track: name begin+duration", in microseconds.
std::vector<std::string> bars_of(const json& events) {
  std::map<std::pair<int, int>, std::string> tracks;
  std::map<int, std::string> processes;
  for (const json& e : events)
    if (e["name"] == "thread_name")
      tracks[{e["pid"], e["tid"]}] = e["args"]["name"];
    else if (e["name"] == "process_name")
      processes[e["pid"]] = e["args"]["name"];
  std::vector<std::string> bars;
  for (const json& e : events)
    if (e["ph"] == "X")
      bars.push_back(fmt::format("{}/{}: {} {}+{}", processes.at(e["pid"]),
                                 tracks.at({e["pid"], e["tid"]}), e["name"].get<std::string>(),
                                 e["ts"].get<double>(), e["dur"].get<double>()));
  return bars;
}

TEST(Trace, LayersOfTheMedianRunFollowOneAnotherInEachStream) {
  EXPECT_THAT(bars_of(events_of({})),
              ElementsAre("layers/layers: a 0+4000", "layers/stream 1: \uFFFD 0+4000",
                          "layers/layers: c 4000+4000"));
}

TEST(Trace, AQueryIsABarOnEachTrackOfItsStream) {
  const Query queries[] = {{.enqueue_start = 1,
                            .enqueue_end = 2,
                            .h2d_start = 3,
                            .compute_start = 4,
                            .d2h_start = 6,
                            .h2d = 1,
                            .compute = 2,
                            .d2h = 1},
                           {.enqueue_start = 1.5,
                            .enqueue_end = 2,
                            .h2d_start = 2,
                            .compute_start = 2,
                            .d2h_start = 3,
                            .compute = 1,
                            .stream = 1}};
  std::vector<std::string> bars = bars_of(events_of(queries));
  bars.resize(bars.size() - 3);  // layers
  EXPECT_THAT(bars, UnorderedElementsAre("queries/stream 0: enqueue: enqueue 1000+1000",
                                         "queries/stream 0: copy in: copy in 3000+1000",
                                         "queries/stream 0: compute: compute 4000+2000",
                                         "queries/stream 0: copy out: copy out 6000+1000",
                                         "queries/stream 1: enqueue: enqueue 1500+500",
                                         "queries/stream 1: compute: compute 2000+1000"));
}

TEST(Trace, TheLastThousandQueriesStay) {
  std::vector<Query> queries(1200, Query{.compute = 1});
  std::vector<int> shown;
  for (const json& e : events_of(queries))
    if (e["ph"] == "X" && e["cat"] == "query") shown.push_back(e["args"]["query"]);
  ASSERT_EQ(shown.size(), 1000);
  EXPECT_EQ(shown.front(), 200);
  EXPECT_EQ(shown.back(), 1199);
}

TEST(Trace, LayersOfAnotherPlanAreAnError) {
  LayerProfiler other;
  other.reportLayerTime("a", 1);
  EXPECT_THROW(trace_of({}, work(), other), Failure);
}

}  // namespace
}  // namespace tenon::tool
