// The memory of a test program: each allocation of the program and its libraries can be seen, and
// made to fail.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::testing {

/// Called at each allocation, by any thread, with the address that it returns to; it finds no
/// memory where this answers false. Must not allocate. Null: all are made.
inline std::atomic<bool (*)(const void* caller)> allocation_hook = nullptr;

/// Blocks that are allocated and not freed.
inline std::atomic<int64_t> live_blocks = 0;

}  // namespace tenon::testing
