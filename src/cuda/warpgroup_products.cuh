// Products by wgmma, whose operands a group of four warps reads from shared memory, or the first
// one from registers; of compute capability 9.0 alone. Sums of a lane are those of mma.sync for the
// sixteen rows of its warp.
#pragma once

#include "cuda/tensor_cores.cuh"

namespace tenon::cuda {
namespace {

// Where a matrix of rows of 128, 64 or 32 swizzled bytes lies, for what multiplies along the rows:
// its address, the bytes between groups of eight rows, and the kind of swizzle.
__device__ uint64_t describe(const void* matrix, int row_bytes) {
  const auto eight_rows = static_cast<uint64_t>(8 * row_bytes >> 4);
  const uint64_t swizzle = row_bytes == 128 ? 1 : row_bytes == 64 ? 2 : 3;
  return (shared_address(matrix) >> 4 & 0x3fff) | uint64_t{1} << 16 | eight_rows << 32
         | swizzle << 62;
}
// The same of rows of 128 bytes, for what multiplies along the columns; `block_bytes` are those
// between the blocks of 128 bytes that longer rows are cut into.
__device__ uint64_t describe_columns(const void* matrix, int block_bytes) {
  return (shared_address(matrix) >> 4 & 0x3fff) | static_cast<uint64_t>(block_bytes >> 4) << 16
         | uint64_t{8 * 128 >> 4} << 32 | uint64_t{1} << 62;
}

__device__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending> __device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// What threads have written into shared memory is seen by wgmma and TMA. It waits for what this
// thread has written, too.
__device__ void publish_to_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// No sum is read before.
template <int kCount> __device__ void fence(int32_t (&sums)[kCount][4]) {
#pragma unroll
  for (auto& four : sums)
    asm volatile("" : "+r"(four[0]), "+r"(four[1]), "+r"(four[2]), "+r"(four[3])::"memory");
}
template <int kCount> __device__ void fence(float (&sums)[kCount][4]) {
#pragma unroll
  for (auto& four : sums)
    asm volatile("" : "+f"(four[0]), "+f"(four[1]), "+f"(four[2]), "+f"(four[3])::"memory");
}

#define TENON_SUMS_8(kind, c, i)                                                   \
  kind(c[i][0]), kind(c[i][1]), kind(c[i][2]), kind(c[i][3]), kind(c[(i) + 1][0]), \
      kind(c[(i) + 1][1]), kind(c[(i) + 1][2]), kind(c[(i) + 1][3])
#define TENON_SUMS_32(kind, c, i)                                                           \
  TENON_SUMS_8(kind, c, i), TENON_SUMS_8(kind, c, (i) + 2), TENON_SUMS_8(kind, c, (i) + 4), \
      TENON_SUMS_8(kind, c, (i) + 6)
#define TENON_REGISTERS_32                                                                         \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25," \
  "%26,%27,%28,%29,%30,%31"
#define TENON_REGISTERS_64                                                                        \
  TENON_REGISTERS_32                                                                              \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54," \
  "%55,%56,%57,%58,%59,%60,%61,%62,%63"

// c (64, columns) = a (64, 32) b (columns, 32)^T, added to c where `adds`; sums wrap, but those of
// fp8, which are bits of float.
template <class Data>
__device__ void multiply_add_bytes(int32_t (&c)[8][4], uint64_t a, uint64_t b, int adds) {
#define TENON_MULTIPLY(types, signs)                                          \
  asm volatile(                                                               \
      "{.reg .pred adds; setp.ne.b32 adds, %34, 0;"                           \
      "wgmma.mma_async.sync.aligned.m64n64k32." types " {" TENON_REGISTERS_32 \
      "}, %32, %33, adds" signs ";}"                                          \
      : TENON_SUMS_32("+r", c, 0)                                             \
      : "l"(a), "l"(b), "r"(adds))
  if constexpr (std::is_same_v<Data, __nv_fp8_e4m3>)
    TENON_MULTIPLY("f32.e4m3.e4m3", ", 1, 1");
  else if constexpr (std::is_signed_v<Data>)
    TENON_MULTIPLY("s32.s8.s8", "");
  else
    TENON_MULTIPLY("s32.u8.s8", "");
#undef TENON_MULTIPLY
}
template <class Data>
__device__ void multiply_add_bytes(int32_t (&c)[16][4], uint64_t a, uint64_t b, int adds) {
#define TENON_MULTIPLY(types, signs)                                           \
  asm volatile(                                                                \
      "{.reg .pred adds; setp.ne.b32 adds, %66, 0;"                            \
      "wgmma.mma_async.sync.aligned.m64n128k32." types " {" TENON_REGISTERS_64 \
      "}, %64, %65, adds" signs ";}"                                           \
      : TENON_SUMS_32("+r", c, 0), TENON_SUMS_32("+r", c, 8)                   \
      : "l"(a), "l"(b), "r"(adds))
  if constexpr (std::is_same_v<Data, __nv_fp8_e4m3>)
    TENON_MULTIPLY("f32.e4m3.e4m3", ", 1, 1");
  else if constexpr (std::is_signed_v<Data>)
    TENON_MULTIPLY("s32.s8.s8", "");
  else
    TENON_MULTIPLY("s32.u8.s8", "");
#undef TENON_MULTIPLY
}

#define TENON_OF_TYPE(T, multiply)         \
  if constexpr (std::is_same_v<T, __half>) \
    multiply("f32.f16.f16");               \
  else                                     \
    multiply("f32.bf16.bf16")

// c (64, columns) = a (64, 16) b (columns, 16)^T, added to c where `adds`.
template <class T>
__device__ void multiply_add(float (&c)[8][4], uint64_t a, uint64_t b, int adds) {
#define TENON_MULTIPLY(types)                                                 \
  asm volatile(                                                               \
      "{.reg .pred adds; setp.ne.b32 adds, %34, 0;"                           \
      "wgmma.mma_async.sync.aligned.m64n64k16." types " {" TENON_REGISTERS_32 \
      "}, %32, %33, adds, 1, 1, 0, 0;}"                                       \
      : TENON_SUMS_32("+f", c, 0)                                             \
      : "l"(a), "l"(b), "r"(adds))
  TENON_OF_TYPE(T, TENON_MULTIPLY);
#undef TENON_MULTIPLY
}
template <class T>
__device__ void multiply_add(float (&c)[16][4], uint64_t a, uint64_t b, int adds) {
#define TENON_MULTIPLY(types)                                                  \
  asm volatile(                                                                \
      "{.reg .pred adds; setp.ne.b32 adds, %66, 0;"                            \
      "wgmma.mma_async.sync.aligned.m64n128k16." types " {" TENON_REGISTERS_64 \
      "}, %64, %65, adds, 1, 1, 0, 0;}"                                        \
      : TENON_SUMS_32("+f", c, 0), TENON_SUMS_32("+f", c, 8)                   \
      : "l"(a), "l"(b), "r"(adds))
  TENON_OF_TYPE(T, TENON_MULTIPLY);
#undef TENON_MULTIPLY
}

// c (64, columns) += a (64, 16) b (16, columns), of which each warp has its rows of a in registers
// as for mma.sync.
template <class T>
__device__ void multiply_add(float (&c)[8][4], const uint32_t (&a)[4], uint64_t b) {
#define TENON_MULTIPLY(types)                                                          \
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16." types " {" TENON_REGISTERS_32 \
               "}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"                                \
               : TENON_SUMS_32("+f", c, 0)                                             \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
  TENON_OF_TYPE(T, TENON_MULTIPLY);
#undef TENON_MULTIPLY
}
template <class T>
__device__ void multiply_add(float (&c)[16][4], const uint32_t (&a)[4], uint64_t b) {
#define TENON_MULTIPLY(types)                                                           \
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16." types " {" TENON_REGISTERS_64 \
               "}, {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"                                 \
               : TENON_SUMS_32("+f", c, 0), TENON_SUMS_32("+f", c, 8)                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
  TENON_OF_TYPE(T, TENON_MULTIPLY);
#undef TENON_MULTIPLY
}

#undef TENON_OF_TYPE
#undef TENON_REGISTERS_64
#undef TENON_REGISTERS_32
#undef TENON_SUMS_32
#undef TENON_SUMS_8

}  // namespace
}  // namespace tenon::cuda
