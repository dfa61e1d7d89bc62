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

/// Measures the machine's peaks. Throws Failure when the context is not on the CPU.
/// @param times of the layers of `context`, which has run.
Roofline make_roofline(nvinfer1::IExecutionContext& context, std::span<const LayerTimes> times,
                       Logger& logger);

/// A table by layer, then sums by kernel and of all.
void print_roofline(const Roofline& roofline, Logger& logger);
nlohmann::ordered_json to_json(const Roofline& roofline);

}  // namespace tenon::tool
