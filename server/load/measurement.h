// What the requests of one level of load say of a server.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "transport.h"

namespace tenon::load {

/// Times in seconds since the level began.
struct Record {
  double intended = 0, sent = 0, done = 0;
  Outcome outcome = Outcome::kAnswered;
};

/// A part of a level: from `begin` to `end`.
struct Window {
  double begin = 0, end = 0;
};

/// Of at least one value.
struct LatencySummary {
  double mean = 0, min = 0, max = 0;
  std::vector<std::pair<double, double>> percentiles;  ///< which, and the value
};

struct Measurement {
  size_t answered = 0, refused = 0, expired = 0, failed = 0;
  double requests_per_second = 0;  ///< that were answered
  LatencySummary latency;          ///< of those, in seconds; zeros where there are none
  double delay = 0;  ///< 99 of 100 requests were sent so many seconds after they should or earlier
};

/// How the latency of a request counts.
enum class Loop : uint8_t {
  /// The next request is sent when one is answered: those that end in the window count.
  kClosed,
  /// Requests come whatever the server does: those that should have been sent in the window count,
  /// from that time on, so that waiting for the generator or a connection is part of it. Without
  /// that, a server that stops for a second would delay one request in place of all that would
  /// have come ("coordinated omission").
  kOpen,
};

/// What happened in a window. Requests per second are those that ended in it.
/// @param percentiles of 0 to 100, by the nearest rank.
Measurement measure(const std::vector<Record>& records, Window window, Loop loop,
                    const std::vector<double>& percentiles);

/// Whether rate and mean latency of the three windows are each within `tolerance` (0.1 is 10 %) of
/// their mean. Windows without answers are not stable.
bool is_stable(const std::array<Measurement, 3>& windows, double tolerance);

}  // namespace tenon::load
