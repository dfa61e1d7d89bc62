// Sorting on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tenon::cuda {

/// Keys and what belongs to them, each with as much memory beside it to sort into.
struct SortedPairs {
  uint64_t *keys, *other_keys;
  uint32_t *values, *other_values;
};

/// Memory that sorting so many pairs works in; at most INT32_MAX.
size_t sort_scratch_bytes(int64_t count);

/// Sorts by the lowest `bits` bits of the keys; equal ones stay in order. Afterwards `keys` and
/// `values` are where the sorted ones are.
void launch_sort(SortedPairs& pairs, int64_t count, int bits, void* scratch, size_t scratch_bytes,
                 cudaStream_t stream);

}  // namespace tenon::cuda
