// What a pipeline has done so far.
#ifndef TENON_SERVE_STATISTICS_H
#define TENON_SERVE_STATISTICS_H

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/serve/job.h"

namespace tenon::serve {

/// Counts of values by their size: bucket i has those up to bound(i) and above bound(i - 1), the
/// last one all that are larger.
class Histogram {
 public:
  static constexpr int kBuckets = 28;
  /// @param first the bound of bucket 0; each next one is twice as large.
  explicit Histogram(double first) : first_(first) {}

  void add(double value);

  double bound(int bucket) const { return first_ * static_cast<double>(uint64_t{1} << bucket); }
  uint64_t in_bucket(int bucket) const { return counts_[static_cast<size_t>(bucket)]; }
  uint64_t count() const { return count_; }
  double sum() const { return sum_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  /// The bound of the bucket in which that part of the values ends: 0.99 for all but one in a
  /// hundred. 0 without values.
  double quantile(double part) const;

 private:
  double first_;
  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  double sum_ = 0;
};

/// Times are in seconds, from 10 microseconds on.
struct StageStatistics {
  size_t waiting = 0;    ///< jobs in front of the stage now
  size_t working = 0;    ///< jobs that it works on now
  uint64_t done = 0;     ///< jobs that it has worked on
  uint64_t failed = 0;   ///< of these, those that it failed
  Histogram wait{1e-5};  ///< of each job, before the stage
  Histogram work{1e-5};  ///< of each job, or of each batch, in it
};

/// All since the pipeline's start, but for what says now.
struct Statistics {
  std::string model, version;
  uint64_t committed = 0, succeeded = 0;
  std::array<uint64_t, kFailures> failed{};  ///< by Failure; all are answered together with these
  size_t jobs = 0, bytes = 0;                ///< in the pipeline now
  size_t peak_jobs = 0, peak_bytes = 0;      ///< that were in it at once
  size_t instances = 0;                      ///< that run now
  uint64_t split_batches = 0;                ///< that failed and were run again job by job
  Histogram batch{1};                        ///< the cost of each batch
  Histogram total{1e-5};                     ///< from the commit to the answer
  std::array<StageStatistics, kStages>
      stages{};  ///< by Stage; kAdmission is the way into the pipeline

  uint64_t failures() const;
  const StageStatistics& stage(Stage stage) const { return stages[static_cast<size_t>(stage)]; }
};

/// Prometheus' text format: tenon_* metrics of pipelines that differ in model or version, which are
/// their labels.
std::string prometheus_text(std::span<const Statistics> pipelines);
inline std::string prometheus_text(const Statistics& statistics) {
  return prometheus_text({&statistics, 1});
}

}  // namespace tenon::serve

#endif  // TENON_SERVE_STATISTICS_H
