// Where the tensors of a context lie in its device memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/in_place_slices.h"
#include "plan/plan.h"
#include "plan/stages.h"
#include "plan/streams.h"

namespace tenon {

/// One piece of memory and the steps during which it must stay intact, both inclusive.
struct MemoryRequest {
  int64_t bytes = 0;
  int32_t first_step = 0, last_step = 0;
};

/// That of cudaMalloc, which libraries count on for their workspaces.
constexpr int64_t kMemoryAlignment = 256;

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one per request
  int64_t bytes = 0;
};

/// Places the largest requests first, each at the lowest offset that no request alive at the same
/// time covers. Offsets are multiples of kMemoryAlignment.
MemoryPlan plan_memory(std::span<const MemoryRequest> requests);

struct Lifetime {
  int32_t first_step = INT32_MAX, last_step = -1;

  void include(const Lifetime& other) {
    first_step = std::min(first_step, other.first_step);
    last_step = std::max(last_step, other.last_step);
  }
};
struct Lifetimes {
  /// First and last step that touch the storage, or run beside one that does; first > last for one
  /// never touched.
  std::vector<Lifetime> tensors;
  /// Of each step's scratch memory.
  std::vector<Lifetime> scratch;
  /// Tensors that may lie within others, for as long as one of them is needed.
  std::vector<InPlaceSlice> slices;
};
Lifetimes lifetimes(const Plan& plan, const Streams& streams);

/// The memory of a context for one stage: a request for each kArena tensor in order, then one for
/// each step's scratch; those of other stages are empty. `shapes` has an entry per tensor. Parts
/// lie within their wholes, which saves copies, where that takes a quarter more memory at most, and
/// no more than `max_bytes` bytes.
MemoryPlan plan_context_memory(const Plan& plan, const Stages& stages, int32_t stage,
                               const Lifetimes& lifetimes, std::span<const Shape> shapes,
                               std::span<const size_t> scratch_bytes, int64_t max_bytes);

}  // namespace tenon
