#include "tenon/serve/pipeline_core.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "check_options.h"
#include "guard.h"
#include "inside.h"
#include "pipeline_state.h"

namespace tenon::serve {

// What a job waited for a stage, and its time in it.
void PipelineCore::State::record(Stage stage, int track, Time begin, Time end,
                                 const PipelineJob& job, size_t batch) {
  if (!trace.is_on()) return;
  const uint64_t number = job.state_.number;
  const std::string& id = job.options().correlation_id;
  try {
    trace.add({stage, true, track, job.state_.queued, begin, number, batch, id});
    trace.add({stage, false, track, begin, end, number, batch, id});
  } catch (const std::bad_alloc&) {  // of the copied identifier: a span less
  }
}

// Whoever changed the schedule says what there is to do now. One thread is enough for each thing:
// it says so again when it has taken its part.
PipelineCore::State::Wakes PipelineCore::State::wakes() {
  const auto next = schedule.next_deadline();
  const bool preprocess = schedule.has_work_to_preprocess();
  return {preprocess,
          schedule.has_work_to_run() || (preprocess && options.preprocess_workers == 0),
          schedule.has_work_to_postprocess(),
          next && *next < watched,
          schedule.is_empty(),
          schedule.take_uncounted()};
}

void PipelineCore::State::notify(const Wakes& wakes) {
  if (wakes.preprocess) to_preprocess.notify_one();
  if (wakes.run) to_run.notify_one();
  if (wakes.postprocess) to_postprocess.notify_one();
  if (wakes.deadline) deadline.notify_one();
  if (wakes.empty) empty.notify_all();
  // A job of any size may take the room of one, but not of so many bytes.
  if (wakes.uncounted == 1 && options.max_bytes == SIZE_MAX)
    capacity.notify_one();
  else if (wakes.uncounted > 0)
    capacity.notify_all();
}

// Says so when the lock is free: whoever wakes up earlier would only wait for it.
void PipelineCore::State::release(Lock& lock) {
  const Wakes now = wakes();
  lock.unlock();
  notify(now);
}

// Until there is nothing left to hand out; answering and deleting are the application's code, and
// run outside of the lock. A call from an answer leaves it to the one around it: answers do not
// nest, however many jobs they commit.
void PipelineCore::State::hand_out(Lock& lock) {
  if (Inside::is_in_answer(this)) return;
  const Inside here(this, Inside::What::kAnswer);
  while (true) {
    if (PipelineJob* const left = schedule.next_left()) {
      lock.unlock();
      left->state_.on_stop.reset();  // waits for its call, if another thread is in it
      delete left;
      lock.lock();
      schedule.left();
    } else if (PipelineJob* const job = schedule.next_answer()) {
      release(lock);
      answer(*job);
      lock.lock();
      schedule.delivered(*job);
    } else {
      return;
    }
  }
}

void PipelineCore::State::answer(PipelineJob& job) {
  JobState& state = job.state_;
  if (!state.failure) return job.answer({});
  JobError error;
  error.failure = *state.failure;
  error.stage = state.failed_in;
  error.cause = std::move(state.cause);
  try {
    if (error.cause.empty()) error.cause = state.reason;
    error.model = options.model;
    error.correlation_id = job.options().correlation_id;
  } catch (const std::bad_alloc&) {  // the answer matters more than its texts
  }
  job.answer(std::move(error));
}

// Until there is none to take: takes under the lock, works outside of it, gives back under it.
template <class Take, class Work, class Give>
void PipelineCore::State::work_through(Lock& lock, const Take& take, const Work& work,
                                       const Give& give) {
  while (PipelineJob* const job = take(Clock::now())) {
    release(lock);
    const auto result = work(*job);
    lock.lock();
    give(*job, result, Clock::now());
    hand_out(lock);
  }
}

void PipelineCore::State::preprocess(Lock& lock, int track) {
  work_through(
      lock, [&](Time now) { return schedule.take_to_preprocess(now); },
      [&](PipelineJob& job) {
        const Time begin = Clock::now();
        auto result = job.preprocess(job.context());
        record(Stage::kPreprocess, track, begin, Clock::now(), job);
        return result;
      },
      [&](PipelineJob& job, const Result<void>& result, Time now) {
        schedule.preprocessed(job, result, now);
      });
}

void PipelineCore::State::postprocess(Lock& lock, int track) {
  work_through(
      lock, [&](Time now) { return schedule.take_to_postprocess(now); },
      [&](PipelineJob& job) {
        const Time begin = Clock::now();
        auto result = job.postprocess(job.context());
        record(Stage::kPostprocess, track, begin, Clock::now(), job);
        return result;
      },
      [&](PipelineJob& job, const Result<void>& result, Time now) {
        schedule.postprocessed(job, result, now);
      });
}

// A worker of a stage.
void PipelineCore::State::work_on(std::condition_variable& wanted,
                                  void (State::*stage)(Lock& lock, int track), int track) {
  const Inside here(this);
  Lock lock(mutex);
  while (true) {
    (this->*stage)(lock, track);
    if (is_over) return;
    notify(wakes());
    wanted.wait(lock);
  }
}

void PipelineCore::State::watch_deadlines() {
  const Inside here(this);
  Lock lock(mutex);
  while (!is_over) {
    schedule.expire(Clock::now());
    hand_out(lock);
    if (is_over) return;
    notify(wakes());
    const auto next = schedule.next_deadline();
    watched = next.value_or(Time::max());
    if (!next)
      deadline.wait(lock);
    else
      deadline.wait_until(lock, *next);
  }
}

// Only says so: to answer and delete here could wait for another job's stop token, whose thread
// waits for this one's.
void PipelineCore::State::cancel(void* pipeline, PipelineJob& job) noexcept {
  State& state = *static_cast<State*>(pipeline);
  const Lock lock(state.mutex);
  state.schedule.cancel(job, Clock::now());
  state.capacity.notify_all();
  state.deadline.notify_one();
}

void PipelineCore::State::warm_up() {
  for (CoreInstance& instance : instances)
    if (instance.warm_up)
      for (const auto& [cost, time] : session::value_of(instance.warm_up()))
        if (cost >= 1 && cost <= options.max_batch) schedule.takes(cost, time);
}

// Threads share the state: one of them may be the last to see it.
void PipelineCore::State::start_threads(const std::shared_ptr<State>& state) {
  const auto start = [&](const std::string& name, auto&& body) {
    state->tracks.push_back(name);
    state->threads.emplace_back(std::forward<decltype(body)>(body));
  };
  const auto track = [&] { return static_cast<int>(state->tracks.size()); };
  if (state->options.preprocess_workers == 0) state->tracks.emplace_back("commit");
  for (int i = 0; i < state->options.preprocess_workers; ++i)
    start("pre-process " + std::to_string(i),
          [state, at = track()] { state->work_on(state->to_preprocess, &State::preprocess, at); });
  for (size_t i = 0; i < state->instances.size(); ++i) {
    state->batches[i].jobs.reserve(state->options.max_batch);
    state->batches[i].track = track();
    start("infer " + std::to_string(i), [state, i] { state->run(i); });
  }
  for (int i = 0; i < state->options.postprocess_workers; ++i)
    start("post-process " + std::to_string(i), [state, at = track()] {
      state->work_on(state->to_postprocess, &State::postprocess, at);
    });
  start("deadlines", [state] { state->watch_deadlines(); });
}

void PipelineCore::State::admit(PipelineJob& job, Lock& lock) {
  const bool may_wait = !Inside::is_in(this);
  Time limit = Time::max();
  if (options.when_full == WhenFull::kTimeOut) limit = Clock::now() + options.admission_timeout;
  if (job.options().deadline) limit = std::min(limit, *job.options().deadline);
  while (schedule.admit(job, Clock::now(), may_wait) == Schedule::Admission::kFull) {
    hand_out(lock);  // of jobs that were dropped
    notify(wakes());
    const auto is_ready = [&] {
      return schedule.has_capacity(job.options().bytes) || schedule.can_drop()
             || schedule.is_stopped() || job.state_.is_cancelled || schedule.live_instances() == 0;
    };
    if (limit == Time::max()) {
      capacity.wait(lock, is_ready);
    } else if (!capacity.wait_until(lock, limit, is_ready)) {
      const bool is_expired = job.options().deadline && *job.options().deadline <= Clock::now();
      schedule.refuse(job, is_expired ? Failure::kExpired : Failure::kRefused,
                      is_expired ? "its deadline passed before there was room in the pipeline"
                                 : "there was no room in the pipeline for as long as it may wait",
                      Clock::now());
    }
    if (job.state_.is_answered) break;
  }
  capacity.notify_one();  // for another, if this one did not need it
}

PipelineCore::PipelineCore(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<PipelineCore>> PipelineCore::start(
    const PipelineOptions& options, std::vector<CoreInstance> instances) noexcept {
  return session::guard([&] {
    auto state =
        std::make_shared<State>(checked_options(options, instances.size()), std::move(instances));
    state->warm_up();
    std::unique_ptr<PipelineCore> core(new PipelineCore(std::move(state)));
    try {
      State::start_threads(core->state_);
    } catch (const std::system_error& error) {
      throw Error{std::string("cannot start the pipeline's threads: ") + error.what()};
    }
    return core;
  });
}

PipelineCore::~PipelineCore() {
  (void)stop(true);
  {
    const State::Lock lock(state_->mutex);
    state_->is_over = true;
  }
  for (auto* const wanted :
       {&state_->to_preprocess, &state_->to_run, &state_->to_postprocess, &state_->deadline})
    wanted->notify_all();
  // In an answer this thread goes on when the application's code has returned.
  for (std::thread& thread : state_->threads)
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
}

void PipelineCore::commit(std::unique_ptr<PipelineJob> owned) noexcept {
  const std::shared_ptr<State> shared = state_;  // an answer may delete the pipeline
  State& state = *shared;
  PipelineJob* const job = owned.release();  // the schedule says when it is to be deleted
  job->state_.on_stop.emplace(job->options().stop, CancelJob{State::cancel, &state, job});
  State::Lock lock(state.mutex);
  try {
    state.admit(*job, lock);
  } catch (const std::bad_alloc&) {
    state.schedule.refuse(*job, Failure::kRefused, "out of memory", Clock::now());
  }
  state.hand_out(lock);
  const bool may_run = state.options.postprocess_workers == 0 && !Inside::is_in(&state);
  if (state.options.preprocess_workers == 0) {
    const Inside here(&state);
    state.preprocess(lock, 0);
    if (may_run) state.run_inline(lock);
  }
  state.release(lock);
}

Result<void> PipelineCore::stop(bool abort) noexcept {
  return session::guard([&] {
    const std::shared_ptr<State> shared = state_;  // an answer may delete the pipeline
    State& state = *shared;
    State::Lock lock(state.mutex);
    state.schedule.stop(abort, Clock::now());
    state.to_run.notify_all();  // nothing is waited for any more
    state.capacity.notify_all();
    state.hand_out(lock);
    state.notify(state.wakes());
    if (Inside::is_in(&state))
      throw Error{"a pipeline cannot wait for its end in one of its own threads"};
    state.empty.wait(lock, [&] { return state.schedule.is_empty(); });
  });
}

Statistics PipelineCore::statistics() const {
  const State::Lock lock(state_->mutex);
  return state_->schedule.statistics();
}

std::string PipelineCore::trace_json() const {
  return state_->trace.json(state_->tracks, state_->options.model);
}

}  // namespace tenon::serve
