// How a pipeline is to work.
#ifndef TENON_SERVE_PIPELINE_OPTIONS_H
#define TENON_SERVE_PIPELINE_OPTIONS_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon::serve {

/// What becomes of a job that is committed to a full pipeline.
enum class WhenFull {
  kWait,        ///< the caller waits for room
  kTimeOut,     ///< the same, for PipelineOptions::admission_timeout at most
  kRefuse,      ///< it is refused
  kDropOldest,  ///< of the jobs that no stage works on yet, the one that came first is dropped
};

struct PipelineOptions {
  using Duration = std::chrono::steady_clock::duration;

  std::string model;    ///< its name, in errors and metrics
  std::string version;  ///< for metrics; may be empty

  // Bounds. A job counts from its admission until it is answered and no stage works on it.
  size_t max_jobs = 256;
  size_t max_bytes = SIZE_MAX;  ///< of the sum of JobOptions::bytes
  WhenFull when_full = WhenFull::kWait;
  Duration admission_timeout = std::chrono::seconds(10);
  /// Jobs that are pre-processed and not run yet, and jobs that were run and are not post-processed
  /// yet: what bounds the memory of tensors. 0 for twice what all instances take.
  size_t max_prepared = 0;

  // Batches.
  size_t max_batch = 1;  ///< the largest sum of JobOptions::cost
  /// Sizes that run better than others; a batch of another size is only made when waiting for the
  /// next of these does not pay.
  std::vector<size_t> preferred_batches;
  /// The longest time that the first job of a batch waits for others.
  Duration max_wait = std::chrono::milliseconds(5);
  /// Waits only while the measured times of batches and arrivals say that the jobs are answered
  /// earlier on average, and without preferred sizes, so long as all batches are of one key, makes
  /// those of the size that takes the least time for a job; else always waits for max_wait, and
  /// takes all that are there.
  bool adaptive = true;

  Duration ageing = std::chrono::milliseconds(100);  ///< what a priority is worth in time
  /// Admitted jobs are answered in the order of their admission, those that fail or expire too; but
  /// for those that are dropped.
  bool ordered = false;
  /// Threads of the stages. Without any, jobs are pre-processed by the threads that commit them, or
  /// else by those of instances, and post-processed by those of instances: for stages that take
  /// less time than to wake up a thread.
  int preprocess_workers = 1;
  int postprocess_workers = 1;
  /// Where a stage has no workers at either end, batches that were measured to take less than this
  /// run in the thread that commits their last job while an instance has nothing to do, and are
  /// answered there: to wake up the instance's thread would take longer. So an instance must not
  /// depend on its thread, and commit() may take as long as a batch. 0 for none.
  Duration inline_below{0};
  size_t trace_spans =
      0;  ///< the last spans that trace_json() and trace_page() show; 0 records none
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_PIPELINE_OPTIONS_H
