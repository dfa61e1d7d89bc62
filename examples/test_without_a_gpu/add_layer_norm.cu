// A block for each row: it keeps the row's sums in shared memory, and reduces them twice.
#include "add_layer_norm.h"

namespace {

constexpr int kThreads = 128, kLanes = 32, kWarps = kThreads / kLanes;

// The sum of all threads' values, for all of them. `of_warps` may be used again afterwards.
__device__ float sum_of_block(float value, float* of_warps) {
  for (int distance = kLanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes] = value;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += of_warps[warp];
  __syncthreads();
  return sum;
}

template <class T> __global__ void add_layer_norm(AddLayerNorm<T> work) {
  extern __shared__ float row[];
  __shared__ float of_warps[kWarps];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * work.length;

  float sum = 0;
  for (int i = threadIdx.x; i < work.length; i += kThreads) {
    row[i] = static_cast<float>(work.x[first + i]) + static_cast<float>(work.residual[first + i]);
    sum += row[i];
  }
  const float mean = sum_of_block(sum, of_warps) / work.length;

  float squares = 0;
  for (int i = threadIdx.x; i < work.length; i += kThreads)
    squares += (row[i] - mean) * (row[i] - mean);
  const float factor = rsqrtf(sum_of_block(squares, of_warps) / work.length + work.epsilon);

  for (int i = threadIdx.x; i < work.length; i += kThreads)
    work.y[first + i] = static_cast<T>((row[i] - mean) * factor * static_cast<float>(work.scale[i])
                                       + static_cast<float>(work.bias[i]));
}

template <class T> cudaError_t launch_any(const AddLayerNorm<T>& work, cudaStream_t stream) {
  if (work.rows == 0 || work.length == 0) return cudaSuccess;
  const size_t bytes = sizeof(float) * work.length;
  add_layer_norm<<<static_cast<unsigned>(work.rows), kThreads, bytes, stream>>>(work);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch(const AddLayerNorm<float>& work, cudaStream_t stream) {
  return launch_any(work, stream);
}
cudaError_t launch(const AddLayerNorm<__half>& work, cudaStream_t stream) {
  return launch_any(work, stream);
}
