// Counts of things that become the offsets at which each begins.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

/// Replaces each of `count` numbers by the sum of those before it; counts[count] becomes the sum of
/// all.
void launch_exclusive_scan(int64_t* counts, int64_t count, cudaStream_t stream);

}  // namespace tenon::cuda
