// Work that takes long, one after the other, in a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace tenon::server {

class WorkThread {
 public:
  /// What was posted is done before it ends.
  ~WorkThread() {
    thread_.request_stop();
    thread_.join();
  }

  void post(std::function<void()> work) {
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back(std::move(work));
    }
    changed_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); }) || !waiting_.empty()) {
      const auto work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> waiting_;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

}  // namespace tenon::server
