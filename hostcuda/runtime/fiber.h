/// A stack to run CUDA threads on, and how the machine's thread goes from one to another.
#pragma once

#include <cstddef>

#include "tenon/hostcuda/launch.h"

namespace tenon::hostcuda {

/// The stack of a CUDA thread. The first page is a guard: who needs more gets a signal.
inline constexpr std::size_t kStackBytes = 512 * 1024;

/// One stack with what is running on it. The stack of the machine's thread is one, too.
struct Fiber {
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Takes a stack. `index` moves its top, since equal ones would compete for the same cache lines.
  /// @throws std::bad_alloc
  void allocate(unsigned index);
  /// The next switch to it calls `entry`, which must not return.
  void start(void (*entry)());

  void* stack_pointer = nullptr;
  const void* bottom = nullptr;  ///< for AddressSanitizer
  std::size_t size = 0;

  unsigned number = 0;  ///< the CUDA thread that runs on it
  Site site{};          ///< where it waits
  bool is_waiting = false;
  Fiber* next_ready = nullptr;

  void* address_sanitizer = nullptr;
  void* thread_sanitizer = nullptr;

 private:
  void* memory_ = nullptr;
  std::size_t top_ = 0;
};

/// Goes on with `to`; returns when somebody switches to `from`.
void switch_fiber(Fiber& from, Fiber& to);
/// What a fiber calls first when it was started, with the one it was reached from.
void fiber_has_started();

}  // namespace tenon::hostcuda
