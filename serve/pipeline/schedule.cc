#include "schedule.h"

#include <algorithm>
#include <new>
#include <utility>

namespace tenon::serve {
namespace {

constexpr int kLargestPriority = 1'000'000;  // so that times do not overflow
constexpr const char* kStopped = "the pipeline has stopped";
constexpr const char* kNoInstance = "no instance is left";
constexpr const char* kExpired = "its deadline has passed";
constexpr const char* kOutOfMemory = "out of memory";  // for the text of an error
constexpr const char* kCancelled = "it was cancelled";

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

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
  statistics_.instances = instances;
}

bool Schedule::has_capacity(size_t bytes) const {
  return statistics_.jobs < options_.max_jobs && bytes <= options_.max_bytes - statistics_.bytes;
}

Schedule::Admission Schedule::admit(PipelineJob& job, Time now, bool may_wait) {
  JobState& state = job.state_;
  const size_t bytes = job.options_.bytes;
  if (state.committed == Time{}) {
    state.committed = now;
    ++statistics_.committed;
    ++pending_;
  }
  const auto answer = [&](Failure failure, const char* reason, const std::string& cause = {}) {
    fail(job, failure, reason, now, cause);
    return Admission::kDone;
  };
  const auto found = [](const char* what, auto value, const char* limit, auto max) {
    return what + std::to_string(value) + limit + std::to_string(max);
  };
  const int priority = job.options_.priority;
  if (is_stopped_) return answer(Failure::kStopped, kStopped);
  if (state.is_cancelled) return answer(Failure::kCancelled, kCancelled);
  if (job.options_.deadline && *job.options_.deadline <= now)
    return answer(Failure::kExpired, kExpired);
  if (live_instances() == 0) return answer(Failure::kInstance, kNoInstance);
  if (job.cost() > options_.max_batch)
    return answer(Failure::kRefused, "",
                  found("it costs ", job.cost(), ", and a batch at most ", options_.max_batch));
  if (bytes > options_.max_bytes)
    return answer(
        Failure::kRefused, "",
        found("its bytes are ", bytes, ", and the pipeline's at most ", options_.max_bytes));
  if (priority > kLargestPriority || priority < -kLargestPriority)
    return answer(Failure::kRefused, "",
                  found("its priority is ", priority, ", beyond ", kLargestPriority));
  if (!has_capacity(bytes)) {
    if (may_wait && is_waited_for(bytes, now)) return Admission::kFull;
    return answer(Failure::kRefused, "",
                  found("the pipeline is full: its jobs are ", statistics_.jobs, ", their bytes ",
                        statistics_.bytes));
  }

  // Both nodes are made before anything is changed.
  state.number = next_number_++;
  state.rank = state.committed - job.options_.priority * options_.ageing;
  JobState::Alarms::node_type alarm;
  if (job.options_.deadline) alarm = alarms_.extract(alarms_.insert(&job).first);
  state.node = waiting_.extract(waiting_.insert(&job).first);
  if (alarm) alarms_.insert(std::move(alarm));
  state.was_admitted = true;
  ++statistics_.jobs;
  statistics_.bytes += bytes;
  statistics_.peak_jobs = std::max(statistics_.peak_jobs, statistics_.jobs);
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.bytes);
  stage(Stage::kAdmission).wait.add(seconds(now - state.committed));
  if (options_.ordered) in_order_.push(job);
  enqueue(job, waiting_, Place::kWaiting, now);
  return Admission::kDone;
}

void Schedule::refuse(PipelineJob& job, Failure failure, const char* reason, Time now) {
  fail(job, failure, reason, now);
}

PipelineJob* Schedule::oldest_in_queue() const {
  const Queue& queue = !waiting_.empty() ? waiting_ : ready_;
  if (queue.empty()) return nullptr;
  return *std::min_element(queue.begin(), queue.end(),
                           [](const PipelineJob* a, const PipelineJob* b) {
                             return a->state_.number < b->state_.number;
                           });
}

bool Schedule::can_drop() const {
  return options_.when_full == WhenFull::kDropOldest && dropped_ == 0
         && oldest_in_queue() != nullptr;
}

// Whether there will be room for who waits. A dropped job makes room when it is gone: none is
// dropped while others are still on their way out, but as many at once as one job needs.
bool Schedule::is_waited_for(size_t bytes, Time now) {
  if (options_.when_full != WhenFull::kDropOldest) return options_.when_full != WhenFull::kRefuse;
  if (dropped_ > 0) return true;
  const auto is_full = [&] {
    return statistics_.jobs - dropped_ >= options_.max_jobs
           || bytes > options_.max_bytes - (statistics_.bytes - dropped_bytes_);
  };
  while (is_full()) {
    PipelineJob* const oldest = oldest_in_queue();
    if (oldest == nullptr) break;
    ++dropped_;
    dropped_bytes_ += oldest->options_.bytes;
    fail(*oldest, Failure::kDropped, "a newer job took its place", now);
  }
  return dropped_ > 0;
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

PipelineJob* Schedule::next_answer() {
  if (is_delivering_) return nullptr;
  PipelineJob* const job = answers_.pop();
  is_delivering_ = options_.ordered && job != nullptr;
  return job;
}

void Schedule::delivered(PipelineJob& job) {
  is_delivering_ = false;
  job.state_.is_delivered = true;
  leave_if_delivered(job);
}

Schedule::Left Schedule::next_left() {
  PipelineJob* const job = left_.pop();
  if (job == nullptr) return {};
  return {job, job->options_.bytes, job->state_.was_admitted,
          job->state_.failure == Failure::kDropped};
}

void Schedule::left(const Left& left) {
  --pending_;
  if (left.was_dropped) {
    --dropped_;
    dropped_bytes_ -= left.bytes;
  }
  if (!left.was_admitted) return;
  --statistics_.jobs;
  statistics_.bytes -= left.bytes;
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
