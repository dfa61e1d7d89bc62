/// Threads of the machine that run blocks side by side.
#pragma once

namespace tenon::hostcuda {

/// Calls work(data) on the calling thread and on up to `count` - 1 others, and returns when all
/// have come back. While others use the pool it is called on this thread alone.
void run_side_by_side(unsigned count, void (*work)(void*), void* data);

}  // namespace tenon::hostcuda
