// A job as a pipeline's core sees it, without the types of its input and output.
#ifndef TENON_SERVE_PIPELINE_JOB_H
#define TENON_SERVE_PIPELINE_JOB_H

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "tenon/serve/job.h"

namespace tenon::serve {

class PipelineJob;

/// What a job's stop token calls.
struct CancelJob {
  void (*cancel)(void* pipeline, PipelineJob& job) noexcept;
  void* pipeline;
  PipelineJob* job;

  void operator()() const noexcept { cancel(pipeline, *job); }
};

/// The more urgent job first: that which came earlier, a priority being worth some time.
struct MoreUrgent {
  bool operator()(const PipelineJob* a, const PipelineJob* b) const;
};
/// The earlier deadline first.
struct EarlierDeadline {
  bool operator()(const PipelineJob* a, const PipelineJob* b) const;
};

/// What a schedule knows of a job. It is read and written under the pipeline's lock.
struct JobState {
  enum class Place {
    kOutside,         // not admitted yet
    kWaiting,         // for a worker that pre-processes
    kPreprocessing,   // in that worker's hands
    kReady,           // for an instance
    kRunning,         // in an instance's hands
    kInferred,        // for a worker that post-processes
    kPostprocessing,  // in that worker's hands
    kLeft,            // done, or given up
  };
  using Queue = std::set<PipelineJob*, MoreUrgent>;
  using Alarms = std::set<PipelineJob*, EarlierDeadline>;

  Place place = Place::kOutside;
  uint64_t number = 0;  // in the order of admission
  Clock::time_point committed, rank;
  Clock::time_point since;   // in its queue, or in the hands of who works on it
  Clock::time_point queued;  // in the queue before
  int runs = 0;              // in instances that died of it, or with it
  uint64_t scan = 0;
  bool was_admitted = false, is_cancelled = false;
  bool is_counted = false;    // in the pipeline's bounds
  bool is_answered = false;   // what it comes to is known
  bool is_delivered = false;  // and was handed out
  std::optional<Failure> failure;
  Stage failed_in = Stage::kAdmission;
  const char* reason = "";  // of the pipeline's
  std::string cause;        // of a stage's, instead
  // Nodes of the queue and of the deadlines, made at the admission: later steps need no memory.
  Queue::node_type node;
  Alarms::node_type alarm;
  PipelineJob* next = nullptr;  // in a list of those to be answered, or to be deleted
  std::optional<std::stop_callback<CancelJob>> on_stop;
};

class PipelineJob {
 public:
  explicit PipelineJob(JobOptions options) : options_(std::move(options)) {}
  virtual ~PipelineJob() = default;
  PipelineJob(const PipelineJob&) = delete;
  PipelineJob& operator=(const PipelineJob&) = delete;

  virtual Result<void> preprocess(const JobContext& context) noexcept = 0;
  virtual Result<void> postprocess(const JobContext& context) noexcept = 0;
  /// Gives the output, or the error, to whoever waits. Called once.
  virtual void answer(std::optional<JobError> error) noexcept = 0;
  /// Jobs of one batch have the same key. Asked after preprocess().
  virtual uint64_t batch_key() const noexcept = 0;

  const JobOptions& options() const { return options_; }
  size_t cost() const { return options_.cost == 0 ? 1 : options_.cost; }
  JobContext context() const { return {options_, is_over_}; }

 private:
  friend class Schedule;
  friend class PipelineCore;
  friend struct MoreUrgent;
  friend struct EarlierDeadline;

  JobOptions options_;
  JobState state_;
  std::atomic<bool> is_over_{false};  // answered, for stages that work on it
};

inline bool MoreUrgent::operator()(const PipelineJob* a, const PipelineJob* b) const {
  if (a->state_.rank != b->state_.rank) return a->state_.rank < b->state_.rank;
  return a->state_.number < b->state_.number;
}

inline bool EarlierDeadline::operator()(const PipelineJob* a, const PipelineJob* b) const {
  if (a->options_.deadline != b->options_.deadline)
    return a->options_.deadline < b->options_.deadline;
  return a->state_.number < b->state_.number;
}

}  // namespace tenon::serve

#endif  // TENON_SERVE_PIPELINE_JOB_H
