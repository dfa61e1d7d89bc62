// Measuring inference: streams of queries, for a time.
#pragma once

#include <span>
#include <vector>

#include "inference_stream.h"

namespace tenon::tool {

/// How long, and how, is measured; trtexec's options of these names say more.
struct MeasureSettings : QuerySettings {
  int iterations = 10;
  double warm_up_ms = 200;
  double duration_s = 3;  // -1: without end
  double sleep_ms = 0, idle_ms = 0;
  bool threads = false;  // one for each stream
};

struct Measurement {
  size_t warm_ups = 0;         // queries before the warm-up's end
  std::vector<Query> queries;  // those after it, by when they began; at least one
};

/// Runs queries on all sessions side by side.
/// @param profiler of the first session's context, or null.
Measurement measure(std::span<const std::unique_ptr<session::Session>> sessions,
                    const MeasureSettings& settings, LayerProfiler* profiler, Logger& logger);

}  // namespace tenon::tool
