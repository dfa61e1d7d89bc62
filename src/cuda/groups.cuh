// Sums and maxima over the threads of a warp or a block; every thread gets the result.
#pragma once

#include <cuda_runtime.h>

namespace tenon::cuda {

template <int kThreads = 32> __device__ inline float warp_sum(float x) {
#pragma unroll
  for (int step = kThreads / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

template <int kThreads = 32> __device__ inline float warp_max(float x) {
#pragma unroll
  for (int step = kThreads / 2; step > 0; step /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

/// All kThreads threads of the block (a multiple of 32, along x) must call it.
template <int kThreads> __device__ inline float block_sum(float x) {
  __shared__ float parts[kThreads / 32];
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) sum += parts[i];
  __syncthreads();  // before the next call writes
  return sum;
}

template <int kThreads> __device__ inline float block_max(float x) {
  __shared__ float parts[kThreads / 32];
  x = warp_max(x);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  float largest = parts[0];
#pragma unroll
  for (int i = 1; i < kThreads / 32; ++i) largest = fmaxf(largest, parts[i]);
  __syncthreads();
  return largest;
}

}  // namespace tenon::cuda
