// Concatenation as its .cu file has it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

/// From each source `words` words go into every row of the target.
struct Concatenated {
  static constexpr int kMaxInputs = 64;
  int64_t word;       // bytes: 1, 2, 4, 8 or 16
  int64_t rows, row;  // how many, and words in each
  void* target;
  int count = 0;
  const void* source[kMaxInputs];
  int64_t words[kMaxInputs], offset[kMaxInputs];
};

void launch_concatenation(const Concatenated& slices, cudaStream_t stream);

}  // namespace tenon::cuda
