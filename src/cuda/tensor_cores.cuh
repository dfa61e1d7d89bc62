// Products of small matrices by tensor cores (mma.sync m16n8k16, of bytes m16n8k32), and what
// brings them there; from compute capability 8.0 on.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

namespace tenon::cuda {

/// c (16, 8) += a (16, 16) b (16, 8)
template <class T>
__device__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (std::is_same_v<T, __half>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// c (16, 8) += a (16, 32) b (32, 8), of int8_t and uint8_t, whose sums wrap; or both of fp8, whose
/// sums are bits of float, from compute capability 8.9 on.
template <class A, class B>
__device__ void multiply_add_bytes(int32_t (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                   uint32_t b1) {
#define TENON_MULTIPLY(sums, types)                                         \
  asm volatile("mma.sync.aligned.m16n8k32.row.col." sums "." types "." sums \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"     \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])             \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
  if constexpr (std::is_same_v<A, __nv_fp8_e4m3>) {
#if __CUDA_ARCH__ >= 890
    TENON_MULTIPLY("f32", "e4m3.e4m3");
#endif
  } else if constexpr (std::is_signed_v<A> && std::is_signed_v<B>) {
    TENON_MULTIPLY("s32", "s8.s8");
  } else if constexpr (std::is_signed_v<A>) {
    TENON_MULTIPLY("s32", "s8.u8");
  } else if constexpr (std::is_signed_v<B>) {
    TENON_MULTIPLY("s32", "u8.s8");
  } else {
    TENON_MULTIPLY("s32", "u8.u8");
  }
#undef TENON_MULTIPLY
}

__device__ inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/// Four matrices of 8x8: each lane gives the address of a row.
__device__ inline void load_matrices(uint32_t (&m)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(shared_address(row)));
}
__device__ inline void load_transposed(uint32_t (&m)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(shared_address(row)));
}

/// The reverse of load_matrices.
__device__ inline void store_matrices(void* row, const uint32_t (&m)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(shared_address(row)),
      "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3])
      : "memory");
}

/// 16 bytes into shared memory in the background; zeros unless `is_there`.
__device__ inline void copy_16(void* to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(is_there ? 16 : 0));
}
__device__ inline void end_group() {
  asm volatile("cp.async.commit_group;");
}
template <int kPending> __device__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending));
}

}  // namespace tenon::cuda
