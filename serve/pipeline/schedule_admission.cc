// How jobs come in, and what makes place for them.
#include <algorithm>
#include <string>
#include <utility>

#include "reasons.h"
#include "schedule.h"

namespace tenon::serve {
namespace {

constexpr int kLargestPriority = 1'000'000;  // so that times do not overflow

}  // namespace

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
  state.was_admitted = state.is_counted = true;
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

}  // namespace tenon::serve
