/// Runs blocks on one thread of the machine: CUDA threads take turns there, and change where they
/// wait.
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "hostcuda/runtime/fiber.h"
#include "hostcuda/runtime/launch.h"
#include "hostcuda/runtime/shared_memory.h"
#include "hostcuda/runtime/watchdog.h"
#include "tenon/hostcuda/wait.h"

namespace tenon::hostcuda {

/// A block is a plain loop over its threads, on one stack, until a thread has to wait. That thread
/// keeps the stack, and the others go on on a fresh one.
class Worker {
 public:
  /// The calling thread's.
  static Worker& mine();

  /// Runs blocks of a launch until there is none left.
  void run(Launch& launch);

  const Block& block() const { return block_; }
  bool is_running() const { return launch_ != nullptr; }
  unsigned thread_number() const {
    return block_.position ? block_.position() : current_ ? current_->number : 0;
  }
  SharedMemory& shared_memory() { return shared_; }
  /// "kernel k, block (0, 0, 0), thread (1, 0, 0)".
  std::string where() const;

  // For CUDA threads. The report comes first when something is wrong, and the thread does not
  // return.
  Votes barrier(bool vote, Site site);
  Exchanged exchange(unsigned mask, std::uint64_t value, Site site);
  unsigned lanes_alive() const;
  bool next_thread(unsigned* number);
  /// Ends the launch with an error.
  [[noreturn]] void fail(cudaError_t error);

 private:
  /// What the lanes of one mask do together: values of the operation, and of the one before, which
  /// slow lanes still read.
  struct WarpOperation {
    unsigned mask = 0;
    unsigned arrived = 0;
    unsigned generation = 0;
    unsigned lanes[2] = {};
    std::uint64_t values[2][32] = {};
    std::vector<Fiber*> waiting;
  };

  static void run_fiber();
  bool begin_block();
  void end_block();
  unsigned take();
  void run_threads();
  void thread_ended(unsigned number);

  void leave_loop();
  void wait(Site site);
  void wake(std::vector<Fiber*>& waiting);
  void open_barrier();
  WarpOperation& operation(unsigned warp, unsigned mask);
  bool complete(WarpOperation& operation, unsigned warp);
  unsigned lanes_alive(unsigned warp) const;
  void require_same_place(const std::vector<Fiber*>& waiting, Site site);

  Fiber* pick();
  Fiber* fresh();
  void hang();
  void abandon();

  Launch* launch_ = nullptr;
  Block block_{};
  Progress progress_;
  SharedMemory shared_;
  bool blocks_are_left_ = false;
  bool failed_ = false;

  Fiber main_;
  Fiber* current_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
  std::size_t first_free_ = 0;  // for ThreadSanitizer, the next fiber to use
  Fiber *ready_ = nullptr, **last_ready_ = &ready_;

  std::vector<unsigned> order_;  // empty: forward
  std::mt19937_64 random_;
  unsigned next_ = 0, done_ = 0;
  std::vector<char> has_ended_;

  std::vector<Fiber*> at_barrier_;
  unsigned barriers_ = 0;
  Votes votes_{}, result_{};
  std::vector<std::deque<WarpOperation>> warps_;
  // Addresses for acquire() and release(). Blocks are not ordered among one another.
  char begin_ = 0, end_ = 0, order_of_barriers_[2] = {};
};

}  // namespace tenon::hostcuda
