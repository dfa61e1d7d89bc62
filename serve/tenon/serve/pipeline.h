// From inputs to outputs: pre-process, batch, infer, post-process, side by side.
#ifndef TENON_SERVE_PIPELINE_H
#define TENON_SERVE_PIPELINE_H

#include <atomic>
#include <coroutine>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/serve/pipeline_core.h"
#include "tenon/serve/protect.h"
#include "tenon/serve/trace_page.h"

namespace tenon::serve {

/// What an instance made of a batch: a value for each job, in their order, or an error. A failed
/// batch of several jobs is run again job by job.
template <class Inferred> struct BatchResult {
  BatchResult(std::vector<Inferred> values) : result(std::move(values)) {}
  BatchResult(Error error, bool is_instance_dead = false)
      : result(std::move(error)), is_instance_dead(is_instance_dead) {}

  Result<std::vector<Inferred>> result;
  bool is_instance_dead = false;  ///< it can run nothing more: its jobs go to other instances
};

/// Runs batches: each instance in a thread of its own, and with PipelineOptions::inline_below also
/// in threads that commit.
template <class Prepared, class Inferred> struct Instance {
  std::function<BatchResult<Inferred>(std::span<Prepared* const>)> run;
  /// Called before the first batch; may be empty.
  std::function<Result<std::vector<BatchTime>>()> warm_up;
};

/// What a pipeline does. Functions may return an error, or throw: that fails the job, or the
/// batch. They are called by several threads at once.
template <class Input, class Output, class Prepared, class Inferred> struct Stages {
  std::function<Result<Prepared>(Input&, const JobContext&)> preprocess;
  std::vector<Instance<Prepared, Inferred>> instances;
  std::function<Result<Output>(Input&, Inferred&, const JobContext&)> postprocess;
  /// Jobs of one batch have the same key, as of the shapes of their tensors; empty if all have.
  std::function<uint64_t(const Prepared&)> batch_key;
};

/// Answers each job that is committed once: with its output, or with an error that says what became
/// of it. All members may be called from any thread.
template <class Input, class Output> class Pipeline {
 public:
  using Answered = Answer<Output>;

  /// Returns when all instances are warm.
  template <class Prepared, class Inferred>
  static Result<std::unique_ptr<Pipeline>> start(
      const PipelineOptions& options, Stages<Input, Output, Prepared, Inferred> stages) noexcept;

  /// Calls `receive(Answer<Output>)` once, in the thread that comes to know the answer; what it
  /// throws is dropped. Waits for room in a full pipeline, if its options say so. Throws
  /// std::bad_alloc, and calls nothing, when there is no memory for the job itself.
  template <class Receive> void submit(Input input, JobOptions options, Receive receive) {
    core_->commit(make_job_(std::move(input), std::move(options),
                            std::make_unique<ReceiverOf<Receive>>(std::move(receive))));
  }

  /// The same as a future. Waiting for it in an answer or a stage of this pipeline may be waiting
  /// for oneself.
  std::shared_future<Answered> commit(Input input, JobOptions options = {}) {
    std::promise<Answered> promise;
    std::shared_future<Answered> future = promise.get_future().share();
    submit(std::move(input), std::move(options),
           [promise = std::move(promise)](Answered answer) mutable {
             promise.set_value(std::move(answer));
           });
    return future;
  }
  /// One future for each input, in their order.
  std::vector<std::shared_future<Answered>> commits(std::vector<Input> inputs,
                                                    const JobOptions& options = {}) {
    std::vector<std::shared_future<Answered>> futures;
    futures.reserve(inputs.size());
    for (Input& input : inputs) futures.push_back(commit(std::move(input), options));
    return futures;
  }

  /// `co_await pipeline.run(input)` is the Answer. The coroutine goes on in the thread that comes
  /// to know it.
  auto run(Input input, JobOptions options) {
    return Awaitable(*this, std::move(input), std::move(options));
  }
  // GCC 12 destroys a default argument twice in a coroutine.
  auto run(Input input) { return Awaitable(*this, std::move(input), JobOptions()); }

  /// See PipelineCore.
  Result<void> stop(bool abort = false) noexcept { return core_->stop(abort); }
  Statistics statistics() const { return core_->statistics(); }
  std::string trace_json() const { return core_->trace_json(); }
  /// The same as a page for a browser.
  std::string trace_page() const { return serve::trace_page(trace_json()); }

 private:
  // A function that can be moved, but need not be copied.
  struct Receiver {
    virtual ~Receiver() = default;
    virtual void receive(Answered answer) noexcept = 0;
  };
  template <class Receive> struct ReceiverOf final : Receiver {
    explicit ReceiverOf(Receive to) : to(std::move(to)) {}
    void receive(Answered answer) noexcept override {
      try {
        to(std::move(answer));
      } catch (...) {  // the receiver's own concern
      }
    }
    Receive to;
  };
  template <class Prepared, class Inferred> class Job;
  template <class Prepared, class Inferred>
  static CoreInstance core_instance(const Instance<Prepared, Inferred>& instance);
  class Awaitable;

  std::function<std::unique_ptr<PipelineJob>(Input, JobOptions, std::unique_ptr<Receiver>)>
      make_job_;
  std::unique_ptr<PipelineCore> core_;
};

template <class Input, class Output>
template <class Prepared, class Inferred>
class Pipeline<Input, Output>::Job final : public PipelineJob {
 public:
  using JobStages = Stages<Input, Output, Prepared, Inferred>;

  Job(Input input, JobOptions options, std::shared_ptr<const JobStages> stages,
      std::unique_ptr<Receiver> receiver)
      : PipelineJob(std::move(options)),
        input_(std::move(input)),
        stages_(std::move(stages)),
        receiver_(std::move(receiver)) {}

  Result<void> preprocess(const JobContext& context) noexcept override {
    auto done = keep(prepared_, [&] { return stages_->preprocess(input_, context); });
    if (!done || !stages_->batch_key) return done;
    return detail::protect<Result<void>>([&]() -> Result<void> {
      batch_key_ = stages_->batch_key(*prepared_);
      return {};
    });
  }
  Result<void> postprocess(const JobContext& context) noexcept override {
    auto done = keep(output_, [&] { return stages_->postprocess(input_, *inferred_, context); });
    inferred_.reset();
    return done;
  }
  void answer(std::optional<JobError> error) noexcept override {
    if (error)
      receiver_->receive(*std::move(error));
    else
      receiver_->receive(*std::move(output_));
  }
  uint64_t batch_key() const noexcept override { return batch_key_; }

  Prepared& prepared() { return *prepared_; }
  // Its memory is another job's from now on.
  void set_inferred(Inferred value) {
    inferred_.emplace(std::move(value));
    prepared_.reset();
  }

 private:
  template <class T, class Call>
  Result<void> keep(std::optional<T>& to, const Call& call) noexcept {
    return detail::protect<Result<void>>([&]() -> Result<void> {
      Result<T> made = call();
      if (!made) return Error{made.error()};
      to.emplace(*std::move(made));
      return {};
    });
  }

  Input input_;
  std::shared_ptr<const JobStages> stages_;
  std::unique_ptr<Receiver> receiver_;
  std::optional<Prepared> prepared_;
  std::optional<Inferred> inferred_;
  std::optional<Output> output_;
  uint64_t batch_key_ = 0;
};

template <class Input, class Output>
template <class Prepared, class Inferred>
CoreInstance Pipeline<Input, Output>::core_instance(const Instance<Prepared, Inferred>& instance) {
  using TypedJob = Job<Prepared, Inferred>;
  const auto run = [call = instance.run](std::span<PipelineJob* const> jobs) {
    return detail::protect<BatchOutcome>([&]() -> BatchOutcome {
      std::vector<Prepared*> batch;
      batch.reserve(jobs.size());
      for (PipelineJob* const job : jobs) batch.push_back(&static_cast<TypedJob*>(job)->prepared());
      BatchResult<Inferred> made = call(batch);
      if (!made.result) return {Error{made.result.error()}, made.is_instance_dead};
      if (made.result->size() != jobs.size())
        return Error{"the instance made " + std::to_string(made.result->size())
                     + " values of a batch of " + std::to_string(jobs.size())};
      for (size_t i = 0; i < jobs.size(); ++i)
        static_cast<TypedJob*>(jobs[i])->set_inferred(std::move((*made.result)[i]));
      return {};
    });
  };
  CoreInstance core{run, {}};
  if (instance.warm_up)
    core.warm_up = [call = instance.warm_up] {
      return detail::protect<Result<std::vector<BatchTime>>>(call);
    };
  return core;
}

template <class Input, class Output>
template <class Prepared, class Inferred>
Result<std::unique_ptr<Pipeline<Input, Output>>> Pipeline<Input, Output>::start(
    const PipelineOptions& options, Stages<Input, Output, Prepared, Inferred> stages) noexcept {
  using Made = Result<std::unique_ptr<Pipeline>>;
  return detail::protect<Made>([&]() -> Made {
    if (!stages.preprocess || !stages.postprocess)
      return Error{"a pipeline needs functions that pre-process and post-process"};
    std::vector<CoreInstance> instances;
    for (const auto& instance : stages.instances) {
      if (!instance.run) return Error{"an instance of a pipeline needs a function that runs"};
      instances.push_back(core_instance(instance));
    }
    stages.instances.clear();  // the core has them
    auto shared =
        std::make_shared<const Stages<Input, Output, Prepared, Inferred>>(std::move(stages));
    auto core = PipelineCore::start(options, std::move(instances));
    if (!core) return Error{core.error()};
    auto pipeline = std::make_unique<Pipeline>();
    pipeline->core_ = *std::move(core);
    pipeline->make_job_ = [shared](Input input, JobOptions job_options,
                                   std::unique_ptr<Receiver> receiver) {
      return std::make_unique<Job<Prepared, Inferred>>(std::move(input), std::move(job_options),
                                                       shared, std::move(receiver));
    };
    return pipeline;
  });
}

template <class Input, class Output> class Pipeline<Input, Output>::Awaitable {
 public:
  Awaitable(Pipeline& pipeline, Input input, JobOptions options)
      : pipeline_(pipeline), input_(std::move(input)), options_(std::move(options)) {}

  bool await_ready() const noexcept { return false; }
  // The answer may come before this returns, and then does not resume the coroutine from within.
  bool await_suspend(std::coroutine_handle<> coroutine) {
    pipeline_.submit(std::move(input_), std::move(options_), [this, coroutine](Answered answer) {
      answer_.emplace(std::move(answer));
      if (state_.exchange(State::kAnswered) == State::kSuspended) coroutine.resume();
    });
    return state_.exchange(State::kSuspended) != State::kAnswered;
  }
  Answered await_resume() { return *std::move(answer_); }

 private:
  enum class State { kCommitting, kSuspended, kAnswered };

  Pipeline& pipeline_;
  Input input_;
  JobOptions options_;
  std::optional<Answered> answer_;
  std::atomic<State> state_{State::kCommitting};
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_PIPELINE_H
