// Elements of kernels in CUDA: conversions, and several read or written at once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "base/dtype.h"

namespace tenon::cuda {

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__half x) {
  return __half2float(x);
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <class T> __device__ inline T from_float(float x) {
  if constexpr (sizeof(T) == 4)
    return x;
  else if constexpr (std::is_same_v<T, __half>)
    return __float2half_rn(x);
  else
    return __float2bfloat16_rn(x);
}

/// `kCount` elements that are read and written as one, at addresses that are multiples of it.
template <class T, int kCount> struct alignas(sizeof(T) * kCount) Pack {
  T values[kCount];
};

/// Calls body(T{}) with CUDA's type of the elements: float, half or bfloat16; false for others.
template <class Body> __host__ __device__ bool with_device_float(DataType type, Body&& body) {
  if (type == DataType::kFLOAT)
    body(float{});
  else if (type == DataType::kHALF)
    body(__half{});
  else if (type == DataType::kBF16)
    body(__nv_bfloat16{});
  else
    return false;
  return true;
}

inline bool is_multiple(const void* address, size_t bytes) {
  return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

}  // namespace tenon::cuda
