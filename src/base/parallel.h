// The process's one thread arena; oneDNN's primitives run in it too.
#pragma once

#include <cstdint>

#include "base/function_ref.h"

namespace tenon {

/// Threads of the arena: TENON_THREADS, else what the machine has.
int thread_count();

/// Sets the size of the arena; values below 1 mean the default. What runs meanwhile keeps its size.
void set_thread_count(int threads);

/// Calls body(begin, end) over disjoint ranges that cover [0, count), none shorter than `grain`
/// unless it is the last. Runs on the caller when one range is enough. The results must not depend
/// on how the range is cut. Exceptions of the body reach the caller.
void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

/// Runs `body` inside the arena, so that TBB loops started by libraries use its threads.
void in_arena(FunctionRef<void()> body);

}  // namespace tenon
