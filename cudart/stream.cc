/// The queue and the worker of a stream.
#include "cudart/stream.h"

#include <chrono>
#include <csignal>
#include <thread>

#include "cudart/process.h"
#include "cudart/runtime.h"
#include "cudart/thread_context.h"

namespace tenon::cudart {
namespace {

constexpr std::size_t kFirstCapacity = 64;
/// A submitter waits when this many operations are pending, as on a GPU.
constexpr std::size_t kMostPending = 4096;

/// The process is ending: this thread must not touch anything any more.
[[noreturn]] void park() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

void Stream::open(cudaStream_t handle, unsigned flags, int priority, Stream* legacy) {
  const std::lock_guard lock(mutex_);
  handle_ = handle;
  flags_ = flags;
  priority_ = priority;
  legacy_ = legacy;
  closed_ = false;
  error_ = cudaSuccess;
}

void Stream::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (has_worker_) {
      ready_.notify_one();
      return;
    }
  }
  runtime().streams.recycle(reinterpret_cast<std::uintptr_t>(handle_));
}

std::uint64_t Stream::submit(const Action& action) {
  std::unique_lock lock(mutex_);
  make_room(lock);
  if (!has_worker_) start_worker();
  // Work that runs inside another stream's work is ordered by that stream, not by the legacy one.
  const Stream* legacy = thread_context().inline_stream ? nullptr : legacy_.load();
  const std::uint64_t ticket = tail_.load(std::memory_order_relaxed);
  ring_[ticket & (ring_.size() - 1)] = {action, legacy ? legacy->newest() : 0};
  tail_.store(ticket + 1, std::memory_order_release);
  lock.unlock();
  ready_.notify_one();
  return ticket + 1;
}

void Stream::make_room(std::unique_lock<std::mutex>& lock) {
  const auto pending = [this] { return tail_.load(std::memory_order_relaxed) - taken_; };
  space_.wait(lock, [&] { return pending() < kMostPending || process_is_ending(); });
  if (pending() < ring_.size()) return;
  std::vector<Entry> larger(ring_.empty() ? kFirstCapacity : ring_.size() * 2);
  for (std::uint64_t ticket = taken_; ticket != tail_.load(std::memory_order_relaxed); ++ticket) {
    larger[ticket & (larger.size() - 1)] = ring_[ticket & (ring_.size() - 1)];
  }
  ring_ = std::move(larger);
}

void Stream::start_worker() {
  stop_workers_at_exit();
  // Signals are the application's: they go to its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([this] { work(); }).detach();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  has_worker_ = true;
}

void Stream::work() {
  pthread_setname_np(pthread_self(), "tenon-stream");
  std::unique_lock lock(mutex_);
  for (;;) {
    ready_.wait(lock, [this] { return taken_ != tail_.load() || closed_; });
    if (taken_ == tail_.load()) break;
    const Entry entry = ring_[taken_ & (ring_.size() - 1)];
    const bool was_full = tail_.load() - taken_ == kMostPending;
    ++taken_;
    lock.unlock();
    if (was_full) space_.notify_all();
    execute(entry);
    release(this);
    lock.lock();
    completed_.store(taken_, std::memory_order_release);
    if (waiters_) progress_.notify_all();
  }
  has_worker_ = false;
  const auto handle = reinterpret_cast<std::uintptr_t>(handle_);
  lock.unlock();
  runtime().streams.recycle(handle);
}

void Stream::execute(const Entry& entry) {
  if (entry.legacy_ticket) cudart::run(Wait{legacy_.load(), entry.legacy_ticket}, *this);
  const bool waits = std::holds_alternative<Wait>(entry.action);
  running_.store(!waits);
  if (process_is_ending()) {
    running_.store(false);
    park();
  }
  cudart::run(entry.action, *this);
  running_.store(false);
}

void Stream::wait(std::uint64_t ticket) {
  if (done(ticket)) return;
  std::unique_lock lock(mutex_);
  ++waiters_;
  progress_.wait(lock, [&] { return done(ticket) || process_is_ending(); });
  --waiters_;
}

void Stream::wake() {
  const std::lock_guard lock(mutex_);
  progress_.notify_all();
  space_.notify_all();
}

void Stream::fail(cudaError_t error) {
  const std::lock_guard lock(mutex_);
  if (error_ != cudaSuccess) return;
  error_ = error;
  error_ticket_ = taken_;
}

cudaError_t Stream::peek_error(std::uint64_t ticket) {
  if (error_.load() == cudaSuccess) return cudaSuccess;
  const std::lock_guard lock(mutex_);
  return error_ticket_ <= ticket ? error_.load() : cudaSuccess;
}

cudaError_t Stream::take_error(std::uint64_t ticket) {
  if (error_.load() == cudaSuccess) return cudaSuccess;
  const std::lock_guard lock(mutex_);
  return error_ticket_ <= ticket ? error_.exchange(cudaSuccess) : cudaSuccess;
}

}  // namespace tenon::cudart
