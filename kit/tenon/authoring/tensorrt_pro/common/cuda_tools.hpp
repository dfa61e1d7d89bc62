/// What kernels of tensorRT_Pro's plugins use: positions, launch sizes, checks and messages. For
/// nvcc.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <stdexcept>

#define GPU_BLOCK_THREADS 512

/// In a kernel with a parameter `edge`: the thread's `position`, which is below it.
#define KernelPositionBlock                                                     \
  const int position = static_cast<int>(blockDim.x * blockIdx.x + threadIdx.x); \
  if (position >= (edge)) return;

namespace CUDATools {

inline dim3 block_dims(int jobs) {
  return dim3(static_cast<unsigned>(std::clamp(jobs, 1, GPU_BLOCK_THREADS)));
}
inline dim3 grid_dims(int jobs) {
  const int threads = std::clamp(jobs, 1, GPU_BLOCK_THREADS);
  return dim3(static_cast<unsigned>((std::max(jobs, 1) + threads - 1) / threads));
}
/// Whether the call succeeded; says so on standard error when not.
inline bool check_runtime(cudaError_t status, const char* call, int line, const char* file) {
  if (status != cudaSuccess)
    std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status));
  return status == cudaSuccess;
}

}  // namespace CUDATools

#define checkCudaRuntime(call) CUDATools::check_runtime(call, #call, __LINE__, __FILE__)
#define checkCudaKernel(...)                                                       \
  {                                                                                \
    __VA_ARGS__;                                                                   \
    CUDATools::check_runtime(cudaPeekAtLastError(), "launch", __LINE__, __FILE__); \
  }

/// A message on standard error. INFOF is for what cannot go on: enqueue() fails.
#define INFO(...) (std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))
#define INFOW(...) INFO(__VA_ARGS__)
#define INFOE(...) INFO(__VA_ARGS__)
#define INFOF(...) (INFO(__VA_ARGS__), throw std::runtime_error("it cannot go on"))
#define Assert(condition) ((condition) ? void() : INFOF("%s is false", #condition))
