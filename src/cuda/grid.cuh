// What the kernels that move elements are made of: words, divisions, launches.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "cuda/divider.cuh"

namespace tenon::cuda {

/// Division by a number that is known when the kernel is launched: fast for 32-bit indices, which
/// are below 2^31.
template <class Index> class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int64_t divisor) : divisor_(divisor) {}
  /// Leaves the remainder in `rest`.
  __device__ Index divide(Index n, Index& rest) const {
    if constexpr (sizeof(Index) == 4) {
      rest = divisor_.split(n);
      return n;
    } else {
      rest = n % divisor_;
      return n / divisor_;
    }
  }

 private:
  std::conditional_t<sizeof(Index) == 4, Divider, Index> divisor_{1};
};

/// Sixteen bytes that move as one.
using Wide = uint4;

/// Calls body(Word{}) with a word of 1, 2, 4, 8 or 16 bytes.
template <class Body> void with_word(int64_t bytes, const Body& body) {
  if (bytes == 16)
    body(Wide{});
  else if (bytes == 8)
    body(uint64_t{});
  else if (bytes == 4)
    body(uint32_t{});
  else if (bytes == 2)
    body(uint16_t{});
  else
    body(uint8_t{});
}

/// Calls body(Index{}) with an integer that counts so many things, and divides them fast if it
/// can.
template <class Body> void with_index(int64_t count, const Body& body) {
  if (count <= INT32_MAX)
    body(uint32_t{});
  else
    body(uint64_t{});
}

constexpr int kThreads = 256;

/// Threads loop where there are more things than this many blocks have threads.
inline unsigned blocks_for(int64_t count, int64_t in_block = kThreads) {
  constexpr int64_t kMaxBlocks = 1 << 20;
  const int64_t blocks = (count + in_block - 1) / in_block;
  return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

/// Puts a kernel into the stream.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, int threads, cudaStream_t stream,
            const Arguments&... arguments) {
  // clang-format off: it takes launches apart.
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
  // clang-format on
}

/// Calls body(i) for this thread's share of [0, count).
template <class Index, class Body> __device__ void for_own(Index count, const Body& body) {
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    body(i);
}

/// An element of a tensor of int32 or int64.
__device__ inline int64_t integer_at(const void* data, bool is_wide, int64_t i) {
  return is_wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
}

/// An index counted from the end if it is negative; -1 if it is outside.
__device__ inline int64_t wrapped_index(int64_t index, int64_t extent) {
  if (index < -extent || index >= extent) return -1;
  return index < 0 ? index + extent : index;
}

}  // namespace tenon::cuda
