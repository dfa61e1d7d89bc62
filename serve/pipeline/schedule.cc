#include "schedule.h"

#include <algorithm>
#include <new>
#include <utility>

#include "reasons.h"

namespace tenon::serve {
namespace {

Stage stage_of(JobState::Place place) {
  using Place = JobState::Place;
  switch (place) {
    case Place::kWaiting:
    case Place::kPreprocessing:
      return Stage::kPreprocess;
    case Place::kReady:
    case Place::kRunning:
      return Stage::kInfer;
    case Place::kInferred:
    case Place::kPostprocessing:
      return Stage::kPostprocess;
    case Place::kOutside:
    case Place::kLeft:
      break;
  }
  return Stage::kAdmission;
}

}  // namespace

void Schedule::List::push(PipelineJob& job) {
  job.state_.next = nullptr;
  (last == nullptr ? first : last->state_.next) = &job;
  last = &job;
}

PipelineJob* Schedule::List::pop() {
  PipelineJob* const job = first;
  if (job == nullptr) return nullptr;
  first = job->state_.next;
  if (first == nullptr) last = nullptr;
  return job;
}

void Schedule::List::erase(PipelineJob& job) {
  PipelineJob* before = nullptr;
  for (PipelineJob* at = first; at != &job; at = at->state_.next) before = at;
  (before == nullptr ? first : before->state_.next) = job.state_.next;
  if (last == &job) last = before;
}

Schedule::Schedule(const PipelineOptions& options, size_t instances)
    : options_(options), all_instances_(instances), times_(options.max_batch) {
  statistics_.model = options.model;
  statistics_.version = options.version;
  statistics_.instances = instances;
}

JobState::Queue* Schedule::queue_of(Place place) {
  switch (place) {
    case Place::kWaiting:
      return &waiting_;
    case Place::kReady:
      return &ready_;
    case Place::kInferred:
      return &inferred_;
    default:
      return nullptr;
  }
}

void Schedule::enqueue(PipelineJob& job, Queue& queue, Place place, Time now) {
  queue.insert(std::move(job.state_.node));
  job.state_.place = place;
  job.state_.since = now;
}

bool Schedule::has_work_to_preprocess() const {
  return !waiting_.empty() && preprocessing_ + ready_.size() < options_.max_prepared;
}

void Schedule::start_work(PipelineJob& job, Stage in, Time now) {
  stage(in).wait.add(seconds(now - job.state_.since));
  ++stage(in).working;
  job.state_.queued = std::exchange(job.state_.since, now);
}

PipelineJob* Schedule::take(Queue& queue, Place place, Stage in, Time now) {
  if (queue.empty()) return nullptr;
  auto node = queue.extract(queue.begin());
  PipelineJob& job = *node.value();
  job.state_.node = std::move(node);
  job.state_.place = place;
  start_work(job, in, now);
  return &job;
}

// What a worker gives back goes on to the next queue, or after the last stage is answered by its
// output, unless it failed or is answered already.
void Schedule::give_back(PipelineJob& job, const Result<void>& result, Stage in, Queue* next,
                         Place place, Time now) {
  --stage(in).working;
  ++stage(in).done;
  if (!result) ++stage(in).failed;
  if (job.state_.is_answered) return leave(job);
  if (result && next != nullptr) return advance(job, *next, place, now);
  if (result)
    settle(job, now);
  else
    fail(job, Failure::kStage, kOutOfMemory, now, result.error());
  leave(job);
}

void Schedule::advance(PipelineJob& job, Queue& next, Place place, Time now) {
  if (is_aborted_)
    fail(job, Failure::kStopped, kStopped, now);
  else if (place == Place::kReady && live_instances() == 0)
    fail(job, Failure::kInstance, kNoInstance, now);
  else
    return enqueue(job, next, place, now);
  leave(job);
}

PipelineJob* Schedule::take_to_preprocess(Time now) {
  if (!has_work_to_preprocess()) return nullptr;
  ++preprocessing_;
  return take(waiting_, Place::kPreprocessing, Stage::kPreprocess, now);
}

void Schedule::preprocessed(PipelineJob& job, const Result<void>& result, Time now) {
  --preprocessing_;
  stage(Stage::kPreprocess).work.add(seconds(now - job.state_.since));
  give_back(job, result, Stage::kPreprocess, &ready_, Place::kReady, now);
  if (job.state_.place != Place::kReady) return;
  times_.arrived(now);
  last_ready_ = now;
}

void Schedule::batch_ran(size_t cost, Clock::duration time) {
  times_.ran(std::clamp<size_t>(cost, 1, options_.max_batch), time);
  stage(Stage::kInfer).work.add(seconds(time));
}

void Schedule::inferred(PipelineJob& job, const Result<void>& result, Time now) {
  give_back(job, result, Stage::kInfer, &inferred_, Place::kInferred, now);
}

void Schedule::instance_died(std::span<PipelineJob* const> batch, const std::string& cause,
                             Time now) {
  --statistics_.instances;
  for (PipelineJob* const job : batch) {
    --stage(Stage::kInfer).working;
    if (job->state_.is_answered) {
      leave(*job);
    } else if (live_instances() > 0 && static_cast<size_t>(++job->state_.runs) < all_instances_) {
      advance(*job, ready_, Place::kReady, now);
    } else {
      fail(*job, Failure::kInstance, kOutOfMemory, now, cause);
      leave(*job);
    }
  }
  if (live_instances() > 0) return;
  fail_all({&waiting_, &ready_}, Failure::kInstance, kNoInstance, now);
}

PipelineJob* Schedule::take_to_postprocess(Time now) {
  return take(inferred_, Place::kPostprocessing, Stage::kPostprocess, now);
}

void Schedule::postprocessed(PipelineJob& job, const Result<void>& result, Time now) {
  stage(Stage::kPostprocess).work.add(seconds(now - job.state_.since));
  give_back(job, result, Stage::kPostprocess, nullptr, Place::kLeft, now);
}

// Answers a job, wherever it is. In a queue it leaves at once; whoever works on it gives it back
// later.
void Schedule::fail(PipelineJob& job, Failure failure, const char* reason, Time now,
                    const std::string& cause) {
  JobState& state = job.state_;
  if (state.is_answered) return;
  state.failure = failure;
  state.failed_in = stage_of(state.place);
  state.reason = reason;
  try {
    state.cause = cause;
  } catch (const std::bad_alloc&) {  // the reason says so
  }
  settle(job, now);
  Queue* const queue = queue_of(state.place);
  if (queue != nullptr) state.node = queue->extract(&job);
  if (queue != nullptr || state.place == Place::kOutside) leave(job);
}

// What the job comes to is known.
void Schedule::settle(PipelineJob& job, Time now) {
  JobState& state = job.state_;
  state.is_answered = true;
  job.is_over_.store(true, std::memory_order_relaxed);
  if (state.failure)
    ++statistics_.failed[static_cast<size_t>(*state.failure)];
  else
    ++statistics_.succeeded;
  statistics_.total.add(seconds(now - state.committed));
  if (state.was_admitted && job.options_.deadline) state.alarm = alarms_.extract(&job);
  if (!state.was_admitted || !options_.ordered) return answers_.push(job);
  if (state.failure == Failure::kDropped) {  // at once, as one that is refused
    in_order_.erase(job);
    answers_.push(job);
  }
  while (in_order_.first != nullptr && in_order_.first->state_.is_answered)
    answers_.push(*in_order_.pop());
}

void Schedule::leave(PipelineJob& job) {
  job.state_.place = Place::kLeft;
  leave_if_delivered(job);
}

void Schedule::leave_if_delivered(PipelineJob& job) {
  if (job.state_.place == Place::kLeft && job.state_.is_delivered) left_.push(job);
}

// Of a job that nobody works on, once.
void Schedule::stop_counting(PipelineJob& job) {
  const JobState& state = job.state_;
  if (state.place != Place::kLeft || !std::exchange(job.state_.is_counted, false)) return;
  const size_t bytes = job.options_.bytes;
  if (state.failure == Failure::kDropped) {
    --dropped_;
    dropped_bytes_ -= bytes;
  }
  --statistics_.jobs;
  statistics_.bytes -= bytes;
  ++uncounted_;
}

PipelineJob* Schedule::next_answer() {
  if (is_delivering_) return nullptr;
  PipelineJob* const job = answers_.pop();
  if (job == nullptr) return nullptr;
  is_delivering_ = options_.ordered;
  stop_counting(*job);
  return job;
}

void Schedule::delivered(PipelineJob& job) {
  is_delivering_ = false;
  job.state_.is_delivered = true;
  leave_if_delivered(job);
}

PipelineJob* Schedule::next_left() {
  PipelineJob* const job = left_.pop();
  if (job != nullptr) stop_counting(*job);
  return job;
}

void Schedule::cancel(PipelineJob& job, Time now) {
  if (job.state_.place == Place::kOutside)
    job.state_.is_cancelled = true;  // admit() says so
  else
    fail(job, Failure::kCancelled, kCancelled, now);
}

std::optional<Schedule::Time> Schedule::next_deadline() const {
  if (alarms_.empty()) return {};
  return (*alarms_.begin())->options_.deadline;
}

void Schedule::expire(Time now) {
  while (!alarms_.empty() && *(*alarms_.begin())->options_.deadline <= now)
    fail(**alarms_.begin(), Failure::kExpired, kExpired, now);
}

void Schedule::stop(bool abort, Time now) {
  is_stopped_ = true;
  is_aborted_ = is_aborted_ || abort;
  if (abort) fail_all({&waiting_, &ready_, &inferred_}, Failure::kStopped, kStopped, now);
}

void Schedule::fail_all(std::initializer_list<Queue*> queues, Failure failure, const char* reason,
                        Time now) {
  for (Queue* const queue : queues)
    while (!queue->empty()) fail(**queue->begin(), failure, reason, now);
}

Statistics Schedule::statistics() const {
  Statistics statistics = statistics_;
  const auto waiting = [&](Stage stage, size_t jobs) {
    statistics.stages[static_cast<size_t>(stage)].waiting = jobs;
  };
  waiting(Stage::kPreprocess, waiting_.size());
  waiting(Stage::kInfer, ready_.size());
  waiting(Stage::kPostprocess, inferred_.size());
  return statistics;
}

}  // namespace tenon::serve
