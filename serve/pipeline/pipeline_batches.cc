// The threads of a pipeline's instances.
#include <span>
#include <utility>

#include "inside.h"
#include "pipeline_state.h"

namespace tenon::serve {

// `batch` has room for the largest: here there may be no memory.
void PipelineCore::State::run(size_t instance, int track, std::vector<PipelineJob*>& batch) {
  const Inside here(this);
  Lock lock(mutex);
  while (true) {
    // What those who committed had to leave, as enough was prepared.
    if (options.preprocess_workers == 0) preprocess(lock, track);
    Time look_again;
    schedule.take_batch(batch, Clock::now(), look_again);
    if (batch.empty()) {
      if (is_over) return;
      Wakes now = wakes();
      now.run = false;  // another instance would find the same
      notify(now);
      if (look_again == Time::max())
        to_run.wait(lock);
      else
        to_run.wait_until(lock, look_again);
      continue;
    }
    release(lock);
    run_batch(instance, batch, track);
    lock.lock();
    if (options.postprocess_workers == 0) postprocess(lock, track);
    hand_out(lock);
    if (instances[instance].run == nullptr) return release(lock);  // it died
  }
}

// A batch that fails is run again job by job, so that only those fail that are at fault.
void PipelineCore::State::run_batch(size_t instance, std::vector<PipelineJob*>& batch, int track) {
  const auto try_to_run = [&](std::span<PipelineJob* const> jobs) -> BatchOutcome {
    const Time begin = Clock::now();
    BatchOutcome outcome = instances[instance].run(jobs);
    const Time end = Clock::now();
    size_t cost = 0;
    for (const PipelineJob* const job : jobs) {
      cost += job->cost();
      record(Stage::kInfer, track, begin, end, *job, jobs.size());
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
