// Which job goes where, and when: a pipeline without its threads and its clock.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "batch_times.h"
#include "tenon/serve/pipeline_job.h"
#include "tenon/serve/pipeline_options.h"
#include "tenon/serve/statistics.h"

namespace tenon::serve {

/// A state machine that its owner locks. Jobs are the caller's: each that was committed comes out
/// of next_answer() once and, when it was delivered and nobody works on it, out of next_left()
/// once. After a job was admitted nothing here needs memory.
class Schedule {
 public:
  using Time = Clock::time_point;

  /// @param options with max_prepared and all numbers of workers set.
  Schedule(const PipelineOptions& options, size_t instances);

  // The way in.
  enum class Admission {
    kDone,  // the job is in, or it is answered
    kFull,  // the caller waits for room, or calls refuse()
  };
  /// @param may_wait whether kFull can be returned; else a job is refused then.
  Admission admit(PipelineJob& job, Time now, bool may_wait);
  /// Answers a job that is not in.
  void refuse(PipelineJob& job, Failure failure, const char* reason, Time now);
  /// Whether a job of that size finds room.
  bool has_capacity(size_t bytes) const;
  /// Whether a job can be dropped for another, and none is on its way out.
  bool can_drop() const;

  // The way through. A job that is taken is in the caller's hands until it is given back.
  PipelineJob* take_to_preprocess(Time now);
  void preprocessed(PipelineJob& job, const Result<void>& result, Time now);
  /// Fills `batch`, which has room for max_batch jobs; empty if there is none to be run yet, and
  /// `look_again` becomes the time from when there may be one without another job.
  void take_batch(std::vector<PipelineJob*>& batch, Time now, Time& look_again);
  void inferred(PipelineJob& job, const Result<void>& result, Time now);
  void batch_ran(size_t cost, Clock::duration time);
  /// As long as a batch of that cost was measured to take.
  void takes(size_t cost, Clock::duration time) { times_.ran(cost, time); }
  /// Of the largest batch; zero before anything was measured.
  Clock::duration time_of_largest() const { return times_.time(options_.max_batch); }
  void batch_was_split() { ++statistics_.split_batches; }
  /// The instance that ran them runs no more: other instances try them, as often as there are
  /// instances.
  void instance_died(std::span<PipelineJob* const> batch, const std::string& cause, Time now);
  PipelineJob* take_to_postprocess(Time now);
  void postprocessed(PipelineJob& job, const Result<void>& result, Time now);

  // The ways out.
  void cancel(PipelineJob& job, Time now);
  /// Answers jobs whose deadline has passed.
  void expire(Time now);
  std::optional<Time> next_deadline() const;
  /// Lets no more jobs in; with `abort` answers those that are.
  void stop(bool abort, Time now);
  bool is_stopped() const { return is_stopped_; }
  /// What to hand out next; null for none, and while another thread hands out and order matters.
  /// It gives its room up, so that who gets the answer can commit the next job.
  PipelineJob* next_answer();
  void delivered(PipelineJob& job);
  /// What to delete next, if any. Then left() says that it is gone.
  PipelineJob* next_left();
  void left() { --pending_; }
  /// How many jobs gave their room up since the last call.
  size_t take_uncounted() { return std::exchange(uncounted_, 0); }

  // What there is to do.
  bool has_work_to_preprocess() const;
  /// Not while post-processing is far behind: outputs take memory, too.
  bool has_work_to_run() const {
    return !ready_.empty() && inferred_.size() < options_.max_prepared;
  }
  bool has_work_to_postprocess() const { return !inferred_.empty(); }
  /// All jobs are answered and gone.
  bool is_empty() const { return pending_ == 0; }
  size_t live_instances() const { return statistics_.instances; }

  /// With the queues' lengths of now.
  Statistics statistics() const;

 private:
  using Place = JobState::Place;
  using Queue = JobState::Queue;

  // A list of jobs through JobState::next, first in, first out.
  struct List {
    PipelineJob* first = nullptr;
    PipelineJob* last = nullptr;
    void push(PipelineJob& job);
    PipelineJob* pop();
    void erase(PipelineJob& job);
  };

  Queue* queue_of(Place place);
  StageStatistics& stage(Stage stage) { return statistics_.stages[static_cast<size_t>(stage)]; }
  void start_work(PipelineJob& job, Stage stage, Time now);
  PipelineJob* take(Queue& queue, Place place, Stage stage, Time now);
  void give_back(PipelineJob& job, const Result<void>& result, Stage stage, Queue* next,
                 Place place, Time now);
  void enqueue(PipelineJob& job, Queue& queue, Place place, Time now);
  void fail(PipelineJob& job, Failure failure, const char* reason, Time now,
            const std::string& cause = {});
  void settle(PipelineJob& job, Time now);
  void leave(PipelineJob& job);
  void leave_if_delivered(PipelineJob& job);
  void stop_counting(PipelineJob& job);
  void advance(PipelineJob& job, Queue& next, Place place, Time now);
  bool is_waited_for(size_t bytes, Time now);
  PipelineJob* oldest_in_queue() const;
  void fail_all(std::initializer_list<Queue*> queues, Failure failure, const char* reason,
                Time now);
  struct Group {
    size_t cost = 0;
    bool is_full = false;
    Time wait_until;
  };
  Group group_of(Queue::iterator first, Time now, std::vector<PipelineJob*>& batch);
  void start_batch(std::vector<PipelineJob*>& batch, size_t wanted, Time now);
  size_t batch_cost(size_t cost, uint64_t key);

  const PipelineOptions options_;
  const size_t all_instances_;
  Queue waiting_, ready_, inferred_;
  JobState::Alarms alarms_;
  BatchTimes times_;
  std::optional<uint64_t> key_;  // of all batches, so long as it is one
  bool has_keys_ = false;        // several: measured times are of one and another
  Time last_ready_{};
  List answers_, left_;
  List in_order_;  // admitted jobs that are not handed out yet, if order matters
  size_t preprocessing_ = 0;
  size_t pending_ = 0;  // jobs that were committed and are not gone
  uint64_t next_number_ = 0, scan_ = 0;
  size_t uncounted_ = 0;
  size_t dropped_ = 0;  // for a newer job, and still taking its room
  size_t dropped_bytes_ = 0;
  bool is_stopped_ = false, is_aborted_ = false, is_delivering_ = false;
  Statistics statistics_;
};

}  // namespace tenon::serve
