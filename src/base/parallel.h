// The process's one thread arena; oneDNN's primitives run in it too.
#pragma once

#include <cstddef>
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

constexpr int64_t kMaxChunks = 64;
/// Calls body(round, chunk) for each of so many chunks, at most kMaxChunks, in every round; a
/// round begins when the one before is done. For rounds that take microseconds: threads that wait
/// for each other spin, and one that is late has its chunks done by others. A body that throws ends
/// the process.
void parallel_rounds(int64_t rounds, int64_t chunks,
                     FunctionRef<void(int64_t round, int64_t chunk)> body);

/// What part `index` of so many gets of a count. Parts are nearly equal, and half of them get about
/// half of the count: layers that divide the same rows give a thread the same ones.
struct Share {
  int64_t first, end;
};
inline Share share_of(int64_t count, int64_t index, int64_t parts) {
  return {count * index / parts, count * (index + 1) / parts};
}

/// Runs `body` inside the arena, so that TBB loops started by libraries use its threads.
void in_arena(FunctionRef<void()> body);

}  // namespace tenon
