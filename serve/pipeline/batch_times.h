// What batches cost by their size, and whether waiting for one more job pays.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "tenon/serve/job.h"

namespace tenon::serve {

/// Times are measured in a running pipeline; a size that has none is interpolated between those
/// that have.
class BatchTimes {
 public:
  explicit BatchTimes(size_t max_batch) : seconds_(max_batch + 1, kUnknown) {}

  /// A batch of that size took so long. @pre 1 <= size <= max_batch.
  void ran(size_t size, Clock::duration time);
  /// A job became ready to be run.
  void arrived(Clock::time_point now);

  /// How long a batch of `size` jobs may wait for one more, from the last arrival on, so that the
  /// sum of all jobs' waiting becomes less by it: zero when it never does, or before enough was
  /// measured. With T(n) the time of a batch of n and D that until the next arrival, waiting
  /// delays `size` jobs by D + T(size+1) - T(size), and the next one is answered
  /// T(size) + T(1) - D - T(size+1) earlier.
  Clock::duration worthwhile_wait(size_t size) const;
  /// Of `jobs` that are there, how many are to run together: those that take the least time each,
  /// and of sizes that differ by less than a hundredth the smallest, which answers sooner. All of
  /// them before enough was measured, and where a batch takes less than a millisecond. Once in a
  /// while it is another size, so that what that takes stays known. On a CPU a batch that leaves
  /// its caches can take longer than its jobs one by one.
  size_t efficient_size(size_t jobs);
  /// Of a batch of that size; zero before anything was measured.
  Clock::duration time(size_t size) const;

 private:
  using Seconds = std::chrono::duration<double>;
  static constexpr double kUnknown = -1;
  static constexpr double kNewest = 0.2;  // the weight of the newest measurement

  double seconds(size_t size) const;

  std::vector<double> seconds_;  // by size
  Clock::time_point last_arrival_;
  bool has_arrival_ = false;
  Seconds interval_{0};
  size_t choices_ = 0;
};

}  // namespace tenon::serve
