// A measurement as trace events, which Perfetto and chrome://tracing show: `tenon bench
// --exportTrace`.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "layer_times.h"
#include "measure.h"

namespace tenon::tool {

/// JSON of two processes. "queries" has the last thousand of them, with tracks for what each stream
/// does: it enqueues, copies in, computes and copies out. "layers" has one run, in which they
/// follow one another on a track for each stream of the engine.
/// @param work of the context that ran, as work_of() gives it.
/// @param profiler that saw its layers, in runs of their own: the run whose sum is the median is
/// shown.
std::string trace_of(std::span<const Query> queries, const nlohmann::ordered_json& work,
                     const LayerProfiler& profiler);

}  // namespace tenon::tool
