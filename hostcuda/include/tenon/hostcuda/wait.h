/// Where CUDA threads wait for one another: barriers of blocks, and what the lanes of a warp do
/// together.
#pragma once

#include <cstdint>

#include "tenon/hostcuda/launch.h"

namespace tenon::hostcuda {

/// What the threads of a block said at a barrier.
struct Votes {
  bool all = true, any = false;
  int count = 0;

  void add(bool vote) {
    all &= vote;
    any |= vote;
    count += vote;
  }
};

/// What the lanes of a warp brought. Valid until the lane's next exchange.
struct Exchanged {
  const std::uint64_t* values;  ///< of 32 lanes
  unsigned lanes;               ///< those that brought one
};

/// Waits for all threads of the block that have not ended.
Votes barrier(bool vote, Site site);
/// Waits for all lanes of `mask` that have not ended.
Exchanged exchange(unsigned mask, std::uint64_t value, Site site);
/// Lanes of the calling thread's warp that have not ended.
unsigned lanes_alive();
/// Whether a kernel runs on the calling thread of the machine.
bool is_in_kernel();
/// Ends the launch with cudaErrorAssert, or the process outside of kernels.
[[noreturn]] void assertion_failed(const char* condition, const char* file, unsigned line,
                                   const char* function);
/// Ends the launch with cudaErrorLaunchFailure.
[[noreturn]] void trap(Site site);

}  // namespace tenon::hostcuda
