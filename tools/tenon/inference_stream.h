// One stream of queries to a context, each timed by events, as trtexec does it.
#pragma once

#include <tenon/session/cuda_graph.h>
#include <tenon/session/session.h>

#include <chrono>
#include <memory>
#include <vector>

#include "cuda_objects.h"
#include "layer_times.h"
#include "logger.h"

namespace tenon::tool {

/// How queries are made.
struct QuerySettings {
  bool transfers = true;  // inputs are copied in, and outputs out, with each query
  bool overlaps = false;  // copies of one query go on while another computes
  bool spins = false;     // a thread that waits for the device polls it
  bool graph = false;     // a query is captured once and then launched
};

/// One query, in milliseconds; moments are those since measuring began.
struct Query {
  double enqueue_start = 0, enqueue_end = 0;
  double h2d_start = 0, compute_start = 0, d2h_start = 0;
  double h2d = 0, compute = 0, d2h = 0;
  int stream = 0;  // of those that are measured side by side

  double enqueue() const { return enqueue_end - enqueue_start; }
  double latency() const { return h2d + compute + d2h; }
  double end() const { return d2h_start + d2h; }
};

/// Not for several threads at a time, and the session is nobody else's meanwhile.
class InferenceStream {
 public:
  using Clock = std::chrono::steady_clock;

  /// Runs once, so that memory is there and a graph can be captured.
  /// @param profiler that the context will have: it is told where runs begin, and sees layers in no
  /// graph. May be null.
  /// @param number that its queries tell.
  InferenceStream(session::Session& session, const QuerySettings& settings, LayerProfiler* profiler,
                  int number, Logger& logger);
  ~InferenceStream();

  /// Queries begin when `start` has happened, and times count from it.
  void start_after(const Event& start, Clock::time_point host_start);
  /// Enqueues a query, unless as many as may overlap are under way.
  void query();
  /// Waits for the oldest query if there are as many as may overlap, and adds it to `done`. The
  /// moment when it began to compute; 0 if there was none.
  double sync(std::vector<Query>& done);
  /// Waits for all.
  void finish(std::vector<Query>& done);

 private:
  /// A query under way.
  struct Slot {
    explicit Slot(unsigned flags);
    Event h2d_start, h2d_end, compute_start, compute_end, d2h_start, d2h_end;
    double enqueue_start = 0, enqueue_end = 0;
    bool is_active = false;
  };

  bool knows_sizes();
  void pin();
  void capture(Logger& logger);
  void launch();
  double now() const;
  Query times(const Slot& slot) const;

  session::Session& session_;
  const QuerySettings settings_;
  LayerProfiler* const profiler_;
  const int number_;
  std::vector<void*> pinned_;  // arrays of the session, so that copies need not wait
  std::unique_ptr<Stream> own_in_, own_out_;
  cudaStream_t in_, compute_, out_;
  session::CudaGraph graph_;
  const Event* start_ = nullptr;
  Clock::time_point host_start_;
  std::vector<Slot> slots_;
  size_t next_ = 0;
};

}  // namespace tenon::tool
