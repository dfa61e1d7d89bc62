/// A stream: a serial queue of operations with one worker thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cudart/operation.h"
#include "cudart/sanitizer.h"

namespace tenon::cudart {

class Capture;

/// Runs operations in the order of submission. Each submission gets a ticket; tickets only grow,
/// also when the stream is destroyed and its slot serves another, so an old ticket is always
/// "done".
class Stream {
 public:
  /// Starts a new life. `legacy` is the stream whose work blocking streams wait for, else null.
  void open(cudaStream_t handle, unsigned flags, int priority, Stream* legacy);
  /// Ends this life; the slot is recycled when pending work is done.
  void close();

  /// Queues an action and returns its ticket. Waits while too many are pending.
  /// @throws std::system_error when no worker thread can be started, std::bad_alloc.
  std::uint64_t submit(const Action& action);

  /// The ticket of the newest submission.
  std::uint64_t newest() const { return tail_.load(std::memory_order_acquire); }
  bool done(std::uint64_t ticket) const {
    if (completed_.load(std::memory_order_acquire) < ticket) return false;
    acquire(this);
    return true;
  }
  /// Blocks until the ticket is done or the process is ending.
  void wait(std::uint64_t ticket);

  /// Remembers that the work now running failed; the first failure is kept until it is taken.
  void fail(cudaError_t error);
  /// The failure of work up to a ticket, or success.
  cudaError_t peek_error(std::uint64_t ticket = ~std::uint64_t{0});
  /// The same, and forgets it.
  cudaError_t take_error(std::uint64_t ticket = ~std::uint64_t{0});

  /// Whether it orders itself with the legacy stream.
  bool blocking() const { return legacy_.load() != nullptr; }
  cudaStream_t handle() const { return handle_; }
  unsigned flags() const { return flags_; }
  int priority() const { return priority_; }

  /// The capture that records this stream instead of running it, or null.
  std::atomic<Capture*> capture{nullptr};

  /// Whether the worker is inside something that could use the process's memory.
  bool running() const { return running_.load(); }
  /// Wakes whoever waits for this stream, so that they see that the process is ending.
  void wake();

 private:
  struct Entry {
    Action action;
    /// The legacy stream's ticket to wait for first.
    std::uint64_t legacy_ticket;
  };

  void start_worker();
  void make_room(std::unique_lock<std::mutex>& lock);
  void work();
  void execute(const Entry& entry);

  cudaStream_t handle_ = nullptr;
  unsigned flags_ = 0;
  int priority_ = 0;
  std::atomic<Stream*> legacy_{nullptr};

  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable space_;
  std::condition_variable progress_;
  std::vector<Entry> ring_;
  std::uint64_t taken_ = 0;
  std::atomic<std::uint64_t> tail_{0};
  std::atomic<std::uint64_t> completed_{0};
  int waiters_ = 0;
  bool has_worker_ = false;
  bool closed_ = true;
  /// Written under the lock; read without it by those who only ask whether there is one.
  std::atomic<cudaError_t> error_{cudaSuccess};
  std::uint64_t error_ticket_ = 0;
  std::atomic<bool> running_{false};
};

}  // namespace tenon::cudart
