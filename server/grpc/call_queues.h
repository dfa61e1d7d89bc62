// Completion queues of gRPC, each with a thread of its own.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <thread>
#include <vector>

// ThreadSanitizer does not see that gRPC, whose library is not instrumented, hands over by locks.
#ifdef TENON_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace tenon::server {

/// What follows an operation of gRPC. The thread of its queue calls it once, when that is over.
class Event {
 public:
  /// What gRPC is given with the operation, and gives back by the queue.
  void* tag() {
#ifdef TENON_THREAD_SANITIZER
    __tsan_release(this);
#endif
    return this;
  }
  static Event& of(void* tag) {
#ifdef TENON_THREAD_SANITIZER
    __tsan_acquire(tag);
#endif
    return *static_cast<Event*>(tag);
  }

  /// @param ok whether the operation did what it should.
  virtual void done(bool ok) = 0;

 protected:
  ~Event() = default;
};

/// Calls a function of the object that it is a part of.
template <class Owner> class EventOf final : public Event {
 public:
  EventOf(Owner* owner, void (Owner::*function)(bool)) : owner_(owner), function_(function) {}
  void done(bool ok) override { (owner_->*function_)(ok); }

 private:
  Owner* const owner_;
  void (Owner::* const function_)(bool);
};

/// All events of a call come in one thread, that of the queue which it was asked for with.
class CallQueues {
 public:
  using Queue = grpc::ServerCompletionQueue;

  /// @param count 1 or more.
  CallQueues(grpc::ServerBuilder& builder, int count);
  /// As wait_for_calls(). @pre a server that was built is shut down.
  ~CallQueues();
  CallQueues(const CallQueues&) = delete;
  CallQueues& operator=(const CallQueues&) = delete;

  const std::vector<std::unique_ptr<Queue>>& all() const { return queues_; }
  /// @pre the server is built.
  void start();
  /// Asks for no more calls.
  void close();
  /// Until all calls that were asked for are over; gRPC waits for those only that clients wait for.
  void wait_for_calls() const;
  /// A part of each call, so long as that is there.
  class Counted {
   public:
    explicit Counted(CallQueues& queues) : calls_(queues.calls_) { ++calls_; }
    ~Counted() {
      if (--calls_ == 0) calls_.notify_all();
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

   private:
    std::atomic<size_t>& calls_;
  };
  /// Calls `ask`, unless no more calls are asked for. False where it did not.
  template <class Ask> bool ask(const Ask& ask) {
    const std::shared_lock lock(mutex_);
    if (!is_closed_) ask();
    return !is_closed_;
  }

 private:
  std::vector<std::unique_ptr<Queue>> queues_;
  std::shared_mutex mutex_;
  bool is_closed_ = false;
  std::atomic<size_t> calls_ = 0;
  std::vector<std::thread> threads_;
};

/// Calls of one service.
class CallService {
 public:
  virtual ~CallService() = default;
  virtual grpc::Service& service() = 0;
  /// Asks for calls. @pre the server is built; the service outlives the queues.
  virtual void serve(CallQueues& queues) = 0;
};

}  // namespace tenon::server
