// The kernels of strided copies, as a .cu file has them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

constexpr int kMaxAxes = 8;

/// A copy to a dense array, in words of 1, 2, 4, 8 or 16 bytes to which all addresses are aligned.
struct WordCopy {
  const void* source;
  void* target;
  int64_t word;
  int axes;                   // 1 or more
  int64_t extents[kMaxAxes];  // of words
  int64_t strides[kMaxAxes];  // bytes between neighbours in the source
};

void launch_copy(const WordCopy& copy, cudaStream_t stream);

/// The same where `transposed`, an axis before the last, is dense in the source: through tiles, so
/// that both sides are accessed in runs.
void launch_transposition(const WordCopy& copy, int transposed, cudaStream_t stream);

/// How a sampled axis is read: sample i is position start + i * step of `extent` ones.
enum class Outside : int32_t { kFill, kClamp, kReflect, kWrap };
struct SampledAxis {
  int64_t start, step, extent;
  bool is_whole;  // position i for sample i
};

/// A copy in which each axis is sampled. Samples outside follow the rule; `fill` is one word in the
/// device's memory, null for zeros.
void launch_sampled_copy(const WordCopy& copy, const SampledAxis* axes, Outside outside,
                         const void* fill, cudaStream_t stream);

}  // namespace tenon::cuda
