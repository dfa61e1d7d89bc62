// The threads of a pipeline's instances.
#include <span>
#include <utility>

#include "inside.h"
#include "pipeline_state.h"

namespace tenon::serve {

// Here there may be no memory.
void PipelineCore::State::run(size_t instance) {
  const Inside here(this);
  Batch& batch = batches[instance];
  Lock lock(mutex);
  while (true) {
    if (batch.is_lent) {
      to_run.notify_one();  // what it was woken up for is another's
      returned.wait(lock, [&] { return !batch.is_lent; });
      continue;
    }
    if (instances[instance].run == nullptr) return release(lock);  // it died
    // What those who committed had to leave, as enough was prepared.
    if (options.preprocess_workers == 0) preprocess(lock, batch.track);
    Time look_again;
    schedule.take_batch(batch.jobs, Clock::now(), look_again);
    if (batch.jobs.empty()) {
      if (is_over) return;
      Wakes now = wakes();
      now.run = false;  // another instance would find the same
      notify(now);
      batch.is_idle = true;
      if (look_again == Time::max())
        to_run.wait(lock);
      else
        to_run.wait_until(lock, look_again);
      batch.is_idle = false;
      continue;
    }
    release(lock);
    run_batch(instance);
    lock.lock();
    if (options.postprocess_workers == 0) postprocess(lock, batch.track);
    hand_out(lock);
  }
}

// One batch, if there is one to be run now; the instance's thread waits meanwhile. It is its own
// again before answers are given, after which the pipeline may be over.
void PipelineCore::State::run_inline(Lock& lock) {
  const Clock::duration time = schedule.time_of_largest();
  if (time <= Clock::duration::zero() || time >= options.inline_below) return;
  for (size_t i = 0; i < instances.size(); ++i) {
    Batch& batch = batches[i];
    if (!batch.is_idle || batch.is_lent || instances[i].run == nullptr) continue;
    Time look_again;
    schedule.take_batch(batch.jobs, Clock::now(), look_again);
    if (batch.jobs.empty()) return;
    batch.is_lent = true;
    release(lock);
    run_batch(i);
    lock.lock();
    batch.is_lent = false;
    returned.notify_all();
    postprocess(lock, batch.track);
    return hand_out(lock);
  }
}

// A batch that fails is run again job by job, so that only those fail that are at fault.
void PipelineCore::State::run_batch(size_t instance) {
  const std::vector<PipelineJob*>& batch = batches[instance].jobs;
  const auto try_to_run = [&](std::span<PipelineJob* const> jobs) -> BatchOutcome {
    const Time begin = Clock::now();
    BatchOutcome outcome = instances[instance].run(jobs);
    const Time end = Clock::now();
    size_t cost = 0;
    for (const PipelineJob* const job : jobs) {
      cost += job->cost();
      record(Stage::kInfer, batches[instance].track, begin, end, *job, jobs.size());
    }
    if (outcome.result) {
      const Lock lock(mutex);
      schedule.batch_ran(cost, end - begin);
    }
    return outcome;
  };
  const auto give_back = [&](std::span<PipelineJob* const> jobs, const BatchOutcome& outcome) {
    const Lock lock(mutex);
    if (outcome.is_instance_dead) {
      schedule.instance_died(jobs, outcome.result.error(), Clock::now());
      return;
    }
    for (PipelineJob* const job : jobs) schedule.inferred(*job, outcome.result, Clock::now());
  };

  const std::span<PipelineJob* const> all(batch);
  BatchOutcome outcome = try_to_run(all);
  size_t given_back = 0;
  if (!outcome.result && !outcome.is_instance_dead && all.size() > 1) {
    {
      const Lock lock(mutex);
      schedule.batch_was_split();
    }
    for (; given_back < all.size() && !outcome.is_instance_dead; ++given_back) {
      const auto one = all.subspan(given_back, 1);
      outcome = try_to_run(one);
      if (outcome.is_instance_dead) break;  // with the rest
      give_back(one, outcome);
    }
  }
  if (given_back < all.size()) give_back(all.subspan(given_back), outcome);
  if (outcome.is_instance_dead) instances[instance].run = nullptr;
}

}  // namespace tenon::serve
