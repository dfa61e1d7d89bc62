// How reference kernels divide work that needs scratch memory.
#pragma once

#include <cstdint>

namespace tenon {

/// Work on `count` things is cut into this many tasks where each needs memory of its own.
constexpr int64_t scratch_tasks(int64_t count) {
  constexpr int64_t kLimit = 32;
  return count < kLimit ? count : kLimit;
}

}  // namespace tenon
