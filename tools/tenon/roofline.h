// How near each layer comes to what the machine can: `tenon bench --roofline`.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "layer_times.h"
#include "logger.h"

namespace tenon::tool {

/// Work and time of a layer, or of several.
struct RooflineRow {
  std::string name, kind, kernel;
  double ms = 0;  // the median of its runs
  double operations = 0, bytes = 0;
};

struct Roofline {
  int threads = 0;
  double operations_per_second = 0, bytes_per_second = 0;  // the machine's peaks
  std::vector<RooflineRow> layers;

  /// Milliseconds that the peaks allow: of arithmetic or of memory, whichever is more.
  double min_ms(const RooflineRow& row) const;
  bool is_bound_by_memory(const RooflineRow& row) const;
};

/// describe_work() of a context that has run; measures the machine's peaks. Throws Failure.
nlohmann::ordered_json work_of(nvinfer1::IExecutionContext& context, Logger& logger);

/// The layers of what work_of() gave, in the order of `times`. Throws Failure where those are of
/// others.
const nlohmann::ordered_json& timed_layers(const nlohmann::ordered_json& work,
                                           std::span<const LayerTimes> times);

/// @param work of a context on the CPU.
/// @param times of its layers, as timed_layers() wants them.
Roofline make_roofline(const nlohmann::ordered_json& work, std::span<const LayerTimes> times);

/// A table by layer, then sums by kernel and of all.
void print_roofline(const Roofline& roofline, Logger& logger);
nlohmann::ordered_json to_json(const Roofline& roofline);

}  // namespace tenon::tool
