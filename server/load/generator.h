// Runs a level of load until what it measures is stable.
#pragma once

#include <vector>

#include "arrivals.h"
#include "measurement.h"
#include "transport.h"

namespace tenon::load {

struct Level {
  Loop loop = Loop::kClosed;
  double value = 1;  ///< requests at the same time, or requests per second
};

struct GeneratorOptions {
  Distribution distribution = Distribution::kConstant;
  uint64_t seed = 1;
  std::chrono::milliseconds warm_up{500};
  std::chrono::milliseconds interval{5000};  ///< of a window
  int max_windows = 10;
  double tolerance = 0.1;
  size_t requests = 0;  ///< exactly as many, without warm-up or windows; 0 for windows
  std::vector<double> percentiles{50, 90, 95, 99};
  size_t connections = 512;  ///< of an open loop, at most
  size_t threads = 1;
  std::chrono::milliseconds timeout{60'000};
};

struct LevelResult {
  Level level;
  Measurement measurement;  ///< over the last three windows, or all there are
  int windows = 0;          ///< that it took
  bool is_stable = false;
  std::string first_failure;     ///< of the requests that failed
  std::vector<Record> requests;  ///< of those windows
};

/// Throws session::Error when for five seconds requests only fail.
LevelResult run_level(const Level& level, const GeneratorOptions& options,
                      const MakeTransport& make_transport);

}  // namespace tenon::load
