// The threads of a pipeline, without the types of its inputs and outputs. Pipeline<> is what
// applications use.
#ifndef TENON_SERVE_PIPELINE_CORE_H
#define TENON_SERVE_PIPELINE_CORE_H

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/serve/pipeline_job.h"
#include "tenon/serve/pipeline_options.h"
#include "tenon/serve/statistics.h"

namespace tenon::serve {

/// What an instance made of a batch.
struct BatchOutcome {
  BatchOutcome() = default;
  BatchOutcome(Error error, bool is_instance_dead = false)
      : result(std::move(error)), is_instance_dead(is_instance_dead) {}

  Result<void> result;
  bool is_instance_dead = false;  ///< it can run nothing more, as after a fault of its device
};

/// How long a batch of a cost takes.
struct BatchTime {
  size_t cost = 1;
  Clock::duration time{};
};

/// Runs batches, one at a time: in a thread of its own, and with PipelineOptions::inline_below also
/// in threads that commit.
struct CoreInstance {
  std::function<BatchOutcome(std::span<PipelineJob* const>)> run;
  /// Called once, before any batch, in the thread that starts the pipeline; may be empty. What it
  /// measured is where adaptive delays begin.
  std::function<Result<std::vector<BatchTime>>()> warm_up;
};

/// Workers that pre-process, instances, workers that post-process, and
/// a thread for deadlines. All members may be called from any thread.
class PipelineCore {
 public:
  /// Returns when all instances are warm. An error for options that contradict each other, and
  /// when an instance cannot be warmed up or a thread not be started.
  static Result<std::unique_ptr<PipelineCore>> start(const PipelineOptions& options,
                                                     std::vector<CoreInstance> instances) noexcept;
  /// Stops at once, and waits for the threads, but for the calling one if it is in an answer. No
  /// other thread may be in a member.
  ~PipelineCore();

  /// Answers the job once, in whatever thread comes to know the answer; that may be this one,
  /// before the call returns. Waits for room as the options say, but never in the pipeline's own
  /// threads and answers: there a full pipeline refuses.
  void commit(std::unique_ptr<PipelineJob> job) noexcept;
  /// Lets no more jobs in, and waits until each that came is answered: by its output, or with
  /// `abort`, if no stage works on it, by an error. An error in the pipeline's own threads and in
  /// answers, which cannot wait for themselves; the pipeline is stopped all the same.
  Result<void> stop(bool abort) noexcept;

  Statistics statistics() const;
  /// The last spans as Chrome's trace events, for Perfetto and chrome://tracing: a track for each
  /// thread, and one for each job.
  std::string trace_json() const;

 private:
  struct State;
  explicit PipelineCore(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_PIPELINE_CORE_H
