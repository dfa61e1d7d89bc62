// Which jobs run together, and when.
#include <algorithm>

#include "schedule.h"

namespace tenon::serve {

// The largest preferred size that is there; without one, what the measured times say.
size_t Schedule::batch_cost(size_t cost, uint64_t key) {
  size_t best = 0;
  for (const size_t size : options_.preferred_batches)
    if (size <= cost) best = std::max(best, size);
  if (best > 0) return best;
  has_keys_ = has_keys_ || key_.value_or(key) != key;
  key_ = key;
  return options_.adaptive && !has_keys_ ? times_.efficient_size(cost) : cost;
}

// The jobs that may run with the first one, as many as fit, fill the batch: none of them costs
// nothing, so it has room for them.
Schedule::Group Schedule::group_of(Queue::iterator first, Time now,
                                   std::vector<PipelineJob*>& batch) {
  batch.clear();
  Group group;
  const uint64_t key = (*first)->batch_key();
  Time oldest = now;
  auto deadline = Time::max();
  for (auto at = first; at != ready_.end(); ++at) {
    PipelineJob& job = **at;
    if (job.batch_key() != key) continue;
    job.state_.scan = scan_;
    if (group.is_full) continue;
    if (group.cost + job.cost() > options_.max_batch) {
      group.is_full = true;
      continue;
    }
    batch.push_back(&job);
    group.cost += job.cost();
    oldest = std::min(oldest, job.state_.since);
    if (job.options_.deadline) deadline = std::min(deadline, *job.options_.deadline);
    group.is_full = group.cost == options_.max_batch;
  }
  group.wait_until = oldest + options_.max_wait;
  if (options_.adaptive)
    group.wait_until = std::min(group.wait_until, last_ready_ + times_.worthwhile_wait(group.cost));
  const Clock::duration time = times_.time(group.cost);
  if (deadline != Time::max()) group.wait_until = std::min(group.wait_until, deadline - time);
  const bool none_comes = is_stopped_ && waiting_.empty() && preprocessing_ == 0;
  if (group.is_full || none_comes) group.wait_until = now;
  return group;
}

// The first of the batch's jobs, whose costs are `wanted`, go to an instance.
void Schedule::start_batch(std::vector<PipelineJob*>& batch, size_t wanted, Time now) {
  size_t cost = 0, jobs = 0;
  for (; jobs < batch.size() && cost < wanted; ++jobs) {
    PipelineJob& job = *batch[jobs];
    cost += job.cost();
    job.state_.node = ready_.extract(&job);
    job.state_.place = Place::kRunning;
    start_work(job, Stage::kInfer, now);
  }
  batch.resize(jobs);
  statistics_.batch.add(static_cast<double>(cost));
}

void Schedule::take_batch(std::vector<PipelineJob*>& batch, Time now, Time& look_again) {
  batch.clear();
  look_again = Time::max();
  if (!has_work_to_run()) return;
  ++scan_;
  for (auto first = ready_.begin(); first != ready_.end(); ++first) {
    if ((*first)->state_.scan == scan_) continue;
    const Group group = group_of(first, now, batch);
    if (group.wait_until <= now)
      return start_batch(batch, batch_cost(group.cost, (*first)->batch_key()), now);
    look_again = std::min(look_again, group.wait_until);
  }
  batch.clear();
}

}  // namespace tenon::serve
