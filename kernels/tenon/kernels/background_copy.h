/// Copies into shared memory that go on while a thread computes. CUDA alone.
#pragma once

#if defined(__CUDACC__)

#include <tenon/plugin/device.h>

namespace tenon::kernels::inline TENON_TARGET {

/// 16 bytes, zeros unless `is_there`. They are there after wait_for_copies(), for the thread that
/// asked for them; from compute capability 8.0 on it does not wait for them before.
__device__ inline void copy_16(void* to, const void* from, bool is_there) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(is_there ? 16 : 0)
               : "memory");
#else
  *static_cast<uint4*>(to) = is_there ? *static_cast<const uint4*>(from) : uint4{};
#endif
}
__device__ inline void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
