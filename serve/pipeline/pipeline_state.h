// A pipeline's threads, and what they share.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schedule.h"
#include "tenon/serve/pipeline_core.h"
#include "trace.h"

namespace tenon::serve {

/// The threads share it: one of them may be the last to see it.
struct PipelineCore::State {
  using Lock = std::unique_lock<std::mutex>;
  using Time = Clock::time_point;

  State(const PipelineOptions& wanted, std::vector<CoreInstance> instances)
      : options(wanted),
        instances(std::move(instances)),
        batches(this->instances.size()),
        schedule(options, this->instances.size()),
        trace(options.trace_spans) {}

  static void cancel(void* pipeline, PipelineJob& job) noexcept;
  static void start_threads(const std::shared_ptr<State>& state);
  void warm_up();
  void preprocess(Lock& lock, int track);
  void run(size_t instance);
  void run_inline(Lock& lock);
  void run_batch(size_t instance);
  void postprocess(Lock& lock, int track);
  void watch_deadlines();
  void admit(PipelineJob& job, Lock& lock);
  void hand_out(Lock& lock);
  void answer(PipelineJob& job);
  struct Wakes {
    bool preprocess, run, postprocess, deadline, empty;
    size_t uncounted;
  };
  Wakes wakes();
  void notify(const Wakes& wakes);
  void release(Lock& lock);
  void record(Stage stage, int track, Time begin, Time end, const PipelineJob& job,
              size_t batch = 1);
  template <class Take, class Work, class Give>
  void work_through(Lock& lock, const Take& take, const Work& work, const Give& give);
  void work_on(std::condition_variable& wanted, void (State::*stage)(Lock& lock, int track),
               int track);

  const PipelineOptions options;
  std::vector<CoreInstance> instances;
  // Of an instance: what it runs, with room for the largest.
  struct Batch {
    std::vector<PipelineJob*> jobs;
    int track = 0;
    bool is_idle = false;  // its thread waits for work
    bool is_lent = false;  // to a thread that commits, which says so when it is `returned`
  };
  std::vector<Batch> batches;
  mutable std::mutex mutex;
  Schedule schedule;  // under the mutex
  bool is_over = false;
  std::condition_variable to_preprocess, to_run, returned, to_postprocess, deadline, capacity,
      empty;
  Time watched = Time::max();  // the deadline that is waited for
  Trace trace;
  std::vector<std::string> tracks;
  std::vector<std::thread> threads;
};

}  // namespace tenon::serve
