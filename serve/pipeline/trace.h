// Spans of time, and the picture of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/serve/job.h"

namespace tenon::serve {

/// The last so many spans. For any number of threads.
class Trace {
 public:
  struct Span {
    Stage stage = Stage::kAdmission;
    bool is_wait = false;  // before the stage, not in it
    int track = 0;         // of the worker
    Clock::time_point begin, end;
    uint64_t job = 0;
    size_t batch = 1;
    std::string correlation_id;
  };

  explicit Trace(size_t spans);
  bool is_on() const { return !spans_.empty(); }
  /// The oldest span makes room.
  void add(Span span);
  /// Chrome's trace events, with OpenTelemetry's identifiers: a trace for each job, or the caller's
  /// where a correlation id is a traceparent of W3C Trace Context.
  std::string json(const std::vector<std::string>& tracks, const std::string& model) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Span> spans_;  // a ring
  size_t count_ = 0;
  const Clock::time_point start_ = Clock::now();
  const uint64_t identity_;  // of this among all
};

}  // namespace tenon::serve
