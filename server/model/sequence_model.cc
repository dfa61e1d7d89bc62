#include "sequence_model.h"

#include <tenon/printable.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>

#include "guard.h"
#include "inference_statistics.h"
#include "sequence_tensors.h"

namespace tenon::server {
namespace {

// A request that waits for the one before it, or for its sequence to begin.
struct WaitingRequest {
  InferRequest request;
  Receive receive;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
};

struct Sequence {
  decltype(SequencePlace::id) id;
  std::deque<std::unique_ptr<WaitingRequest>> waiting;
  std::vector<Tensor> states;  // of whoever runs a request of it
  bool has_slot = false;       // it is one of those that may be at the same time
  bool has_begun = false;      // its start was run, and its end was not
  bool is_running = false;     // a request of it is
  Clock::time_point used;      // when its last request was answered
};

std::string id_text(const SequencePlace& place) {
  if (const auto* const number = std::get_if<uint64_t>(&place.id)) return std::to_string(*number);
  return "'" + printable(std::get<std::string>(place.id)) + "'";
}

class SequenceModel final : public Model {
 public:
  SequenceModel(std::shared_ptr<Model> model, const ModelConfig& config, const QueueLimits& limits)
      : model_(std::move(model)),
        tensors_(config, model_->metadata()),
        max_idle_(config.sequence->max_idle),
        max_waiting_(config.max_queue_size > 0 ? config.max_queue_size : limits.max_requests),
        max_sequences_(config.sequence->max_sequences > 0
                           ? config.sequence->max_sequences
                           : static_cast<size_t>(config.instances)
                                 * std::max<size_t>(config.devices.size(), 1)
                                 * model_->metadata().max_batch),
        watcher_([this] { watch(); }) {}

  ~SequenceModel() override {
    drain();
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    wake_.release();
    watcher_.join();
  }

  const ModelMetadata& metadata() const override { return tensors_.visible(); }

  void infer(InferRequest request, Receive receive) override {
    auto waiting = std::make_unique<WaitingRequest>();
    waiting->request = std::move(request);
    waiting->receive = std::move(receive);
    if (auto error = admit(waiting)) {
      count(error->failure);
      return waiting->receive(*std::move(error));
    }
    pump();
  }

  serve::Statistics statistics() const override {
    serve::Statistics statistics = model_->statistics();
    const std::lock_guard lock(mutex_);
    statistics.stages[static_cast<size_t>(serve::Stage::kPreprocess)].waiting += waiting_;
    for (size_t i = 0; i < failed_.size(); ++i) {
      statistics.failed[i] += failed_[i];
      statistics.committed += failed_[i];
    }
    return statistics;
  }

  void drain() noexcept override {
    std::vector<Answered> answers;
    {
      const std::lock_guard lock(mutex_);
      is_draining_ = true;
      for (const auto& [id, sequence] : sequences_)
        while (!sequence->has_slot && !sequence->waiting.empty())
          answers.push_back(refused(*sequence, sequence->waiting.begin(), Failure::kUnavailable,
                                    "the model is being stopped"));
    }
    deliver(answers);
    std::unique_lock lock(mutex_);
    empty_.wait(lock, [this] { return requests_ == 0; });
    lock.unlock();
    model_->drain();
  }

 private:
  using Waiting = std::deque<std::unique_ptr<WaitingRequest>>;
  struct Answered {
    Receive receive;
    InferAnswer answer;
  };

  std::string error_text(const std::string& text) const {
    return printable(metadata().name) + ": " + text;
  }

  // Takes the request into its sequence, or says why not.
  std::optional<RequestError> admit(std::unique_ptr<WaitingRequest>& waiting) {
    const InferRequest& request = waiting->request;
    const SequencePlace& place = request.sequence;
    const auto invalid = [&](const std::string& text) {
      return RequestError{Failure::kInvalid, error_text(text)};
    };
    if (!place.is_given())
      return invalid("a request needs the parameter sequence_id, other than 0 and empty");
    try {
      tensors_.check(request);
    } catch (const Error& error) {
      return invalid(error.text);
    }
    const std::lock_guard lock(mutex_);
    if (is_draining_)
      return RequestError{Failure::kUnavailable, error_text("the model is being stopped")};
    if (waiting_ >= max_waiting_)
      return RequestError{Failure::kFull,
                          error_text(std::to_string(waiting_) + " requests wait already")};
    auto found = sequences_.find(place.id);
    if (found == sequences_.end()) {
      if (!place.is_start) return invalid(unknown_text(place));
      found = sequences_.emplace(place.id, std::make_shared<Sequence>()).first;
      found->second->id = place.id;
      backlog_.push_back(found->second);
    }
    ++waiting_;
    ++requests_;
    if (request.deadline) watch_for(*request.deadline);
    waiting->on_stop.emplace(request.stop, [this] { wake_.release(); });
    found->second->waiting.push_back(std::move(waiting));
    mark(found->second);
    return std::nullopt;
  }

  static std::string unknown_text(const SequencePlace& place) {
    return "there is no sequence " + id_text(place)
           + ": its first request needs the parameter sequence_start, and the next ones have to come "
             "before it is idle for too long";
  }

  // The members below are called under the lock, but for those that say otherwise.

  void mark(const std::shared_ptr<Sequence>& sequence) {
    if (sequence->has_slot && !sequence->is_running && !sequence->waiting.empty())
      ready_.push_back(sequence);
  }

  void give_slots() {
    while (running_sequences_ < max_sequences_ && !backlog_.empty()) {
      const std::shared_ptr<Sequence> sequence = std::move(backlog_.front());
      backlog_.pop_front();
      if (sequence->waiting.empty()) {  // they were given up
        end(sequence);
        continue;
      }
      sequence->has_slot = true;
      ++running_sequences_;
      mark(sequence);
    }
  }

  void end(const std::shared_ptr<Sequence>& sequence) {
    if (sequence->has_slot)
      --running_sequences_;
    else
      std::erase(backlog_, sequence);
    sequence->has_slot = false;
    const auto found = sequences_.find(sequence->id);
    if (found != sequences_.end() && found->second == sequence) sequences_.erase(found);
  }

  Answered refused(Sequence& sequence, Waiting::iterator at, Failure failure,
                   const std::string& text) {
    Answered answered{std::move((*at)->receive), RequestError{failure, error_text(text)}};
    sequence.waiting.erase(at);
    --waiting_;
    ++failed_[static_cast<size_t>(pipeline_failure(failure))];
    return answered;
  }

  // Begins what can be, one thread at a time: whoever comes meanwhile leaves it to that one, also
  // answers from within. Without the lock.
  void pump() {
    std::unique_lock lock(mutex_);
    if (is_pumping_) return;
    is_pumping_ = true;
    for (give_slots(); !ready_.empty(); give_slots()) {
      const std::shared_ptr<Sequence> sequence = std::move(ready_.front());
      ready_.pop_front();
      if (!sequence->has_slot || sequence->is_running || sequence->waiting.empty()) continue;
      run_next(sequence, lock);
    }
    is_pumping_ = false;
  }

  void run_next(const std::shared_ptr<Sequence>& sequence, std::unique_lock<std::mutex>& lock) {
    const std::unique_ptr<WaitingRequest> next = std::move(sequence->waiting.front());
    sequence->waiting.pop_front();
    --waiting_;
    InferRequest& request = next->request;
    sequence->is_running = true;
    const bool has_begun = sequence->has_begun || request.sequence.is_start;
    sequence->has_begun = has_begun;
    lock.unlock();
    next->on_stop.reset();
    const SequencePlace place = request.sequence;
    const std::vector<std::string> outputs = request.outputs;
    const auto added = session::guard([&] {
      if (!has_begun) throw Error{unknown_text(place)};
      if (place.is_start) sequence->states = tensors_.initial_states();
      tensors_.add_to(request, {place, sequence->states});
    });
    Receive receive = [this, sequence, place, outputs,
                       receive = std::move(next->receive)](InferAnswer answer) mutable {
      answered(sequence, place, outputs, std::exchange(receive, nullptr), std::move(answer));
    };
    if (added) {
      model_->infer(std::move(request), std::move(receive));
    } else {
      count(Failure::kInvalid);
      receive(RequestError{Failure::kInvalid, error_text(added.error())});
    }
    lock.lock();
  }

  // Without the lock; nothing of this is used after the last request is answered.
  void answered(const std::shared_ptr<Sequence>& sequence, const SequencePlace& place,
                const std::vector<std::string>& outputs, Receive receive, InferAnswer answer) {
    if (auto* const response = std::get_if<InferResponse>(&answer)) {
      const auto taken =
          session::guard([&] { tensors_.take_from(*response, outputs, sequence->states); });
      if (!taken) answer = RequestError{Failure::kInternal, error_text(taken.error())};
    }
    receive(std::move(answer));  // before the next one runs: they are answered in their order
    receive = nullptr;           // it may hold this model, which goes when no request counts
    {
      const std::lock_guard lock(mutex_);
      sequence->is_running = false;
      sequence->used = Clock::now();
      if (place.is_end) sequence->has_begun = false;
      if (!sequence->waiting.empty())
        mark(sequence);
      else if (!sequence->has_begun)
        end(sequence);
      else
        watch_for(sequence->used + max_idle_);
    }
    pump();
    leave(1);
  }

  void leave(size_t requests) {
    const std::lock_guard lock(mutex_);
    requests_ -= requests;
    if (requests_ == 0) empty_.notify_all();
  }

  void count(Failure failure) {
    const std::lock_guard lock(mutex_);
    ++failed_[static_cast<size_t>(pipeline_failure(failure))];
  }

  void deliver(std::vector<Answered>& answers) {
    for (auto& [receive, answer] : answers) receive(std::move(answer));
    // Who receives may hold this model: they go while it still counts their requests.
    const size_t count = std::exchange(answers, {}).size();
    if (count > 0) leave(count);
  }

  // Under the lock.
  void watch_for(Clock::time_point time) {
    if (time < watched_) wake_.release();
  }

  // Answers what waited until its deadline, or is cancelled, and ends sequences that are idle.
  void watch() {
    for (;;) {
      std::vector<Answered> answers;
      Clock::time_point next = Clock::time_point::max();
      {
        const std::lock_guard lock(mutex_);
        if (is_over_) return;
        next = watched_ = expire(Clock::now(), answers);
      }
      deliver(answers);
      pump();
      if (next == Clock::time_point::max())
        wake_.acquire();
      else
        (void)wake_.try_acquire_until(next);
    }
  }

  // When it is to be called again.
  Clock::time_point expire(Clock::time_point now, std::vector<Answered>& answers) {
    Clock::time_point next = Clock::time_point::max();
    for (auto at = sequences_.begin(); at != sequences_.end();) {
      const std::shared_ptr<Sequence> sequence = (at++)->second;
      for (size_t i = 0; i < sequence->waiting.size();) {
        const InferRequest& request = sequence->waiting[i]->request;
        const auto place = sequence->waiting.begin() + static_cast<std::ptrdiff_t>(i);
        const bool is_late = request.deadline && *request.deadline <= now;
        if (request.stop.stop_requested() || is_late) {
          answers.push_back(
              is_late ? refused(*sequence, place, Failure::kExpired,
                                "its deadline passed while it waited in its sequence")
                      : refused(*sequence, place, Failure::kCancelled, "it was cancelled"));
          continue;
        }
        if (request.deadline) next = std::min(next, *request.deadline);
        ++i;
      }
      if (sequence->is_running || !sequence->waiting.empty()) continue;
      if (sequence->has_begun && sequence->used + max_idle_ > now)
        next = std::min(next, sequence->used + max_idle_);
      else
        end(sequence);
    }
    return next;
  }

  const std::shared_ptr<Model> model_;
  const SequenceTensors tensors_;
  const Clock::duration max_idle_;
  const size_t max_waiting_, max_sequences_;

  mutable std::mutex mutex_;
  std::condition_variable empty_;
  std::map<decltype(SequencePlace::id), std::shared_ptr<Sequence>> sequences_;
  std::deque<std::shared_ptr<Sequence>> backlog_;    // those that wait for a slot
  std::deque<std::shared_ptr<Sequence>> ready_;      // those that may have a request to run
  std::array<uint64_t, serve::kFailures> failed_{};  // requests that the model never saw
  size_t waiting_ = 0, requests_ = 0, running_sequences_ = 0;
  bool is_pumping_ = false, is_draining_ = false, is_over_ = false;
  Clock::time_point watched_ = Clock::time_point::max();  // when the watcher wakes up by itself
  std::counting_semaphore<> wake_{0};
  std::thread watcher_;  // last: it uses what is above
};

}  // namespace

Result<std::shared_ptr<Model>> make_sequence_model(std::shared_ptr<Model> model,
                                                   const ModelConfig& config,
                                                   const QueueLimits& limits) noexcept {
  return session::guard([&]() -> std::shared_ptr<Model> {
    try {
      return std::make_shared<SequenceModel>(std::move(model), config, limits);
    } catch (const Error& cause) {
      throw Error{printable(config.name) + ": " + cause.text};
    }
  });
}

}  // namespace tenon::server
