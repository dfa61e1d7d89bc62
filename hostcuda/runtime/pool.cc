/// Threads of the machine that run blocks side by side.
#include "hostcuda/runtime/pool.h"

#include <condition_variable>
#include <mutex>

#include "hostcuda/runtime/service_thread.h"

namespace tenon::hostcuda {
namespace {

class Pool {
 public:
  void run(unsigned count, void (*work)(void*), void* data) {
    const std::unique_lock use(use_, std::try_to_lock);
    if (!use || count < 2) return work(data);
    {
      const std::lock_guard lock(mutex_);
      while (threads_ + 1 < count && start()) {}
      work_ = work;
      data_ = data;
      wanted_ = count - 1 < threads_ ? count - 1 : threads_;
    }
    begin_.notify_all();
    work(data);
    std::unique_lock lock(mutex_);
    wanted_ = 0;  // who has not come yet need not
    end_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  bool start() {
    const bool has_started = start_service_thread("tenon-blocks", serve, this);
    if (has_started) ++threads_;
    return has_started;
  }
  static void serve(void* data) { static_cast<Pool*>(data)->serve(); }
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      begin_.wait(lock, [this] { return wanted_ > 0; });
      --wanted_;
      ++busy_;
      void (*const work)(void*) = work_;
      void* const data = data_;
      lock.unlock();
      work(data);
      lock.lock();
      if (--busy_ == 0) end_.notify_one();
    }
  }

  std::mutex use_, mutex_;
  std::condition_variable begin_, end_;
  void (*work_)(void*) = nullptr;
  void* data_ = nullptr;
  unsigned threads_ = 0, wanted_ = 0, busy_ = 0;
};

}  // namespace

void run_side_by_side(unsigned count, void (*work)(void*), void* data) {
  static auto* const pool = new Pool;  // never destroyed: its threads never end
  pool->run(count, work, data);
}

}  // namespace tenon::hostcuda
