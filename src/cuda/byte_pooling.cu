// Maxima of square windows of bytes, the channels last.
#include "cuda/divider.cuh"
#include "cuda/pooling.h"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBytes = 16;  // of channels, which a thread makes

/// Windows along an axis, of which each holds an element of the data.
struct WindowsOfBytes {
  int in, stride, pre;

  /// Which element tap `tap` of a window reads: padding becomes the nearest element, which is in
  /// the window, too.
  __device__ int element(int window, int tap) const {
    return min(max(window * stride - pre + tap, 0), in - 1);
  }
};

struct ByteMaxima {
  const uint4* in;
  uint4* out;
  WindowsOfBytes lines, columns;
  int chunks;                                       // of kBytes channels
  Divider of_chunks, of_out_columns, of_out_lines;  // that divide a thread's number
  uint32_t count;                                   // of threads
};

/// Maxima of four bytes each, which are compared as the upper halves of 16-bit numbers: what the
/// lower halves hold decides nothing between different bytes.
template <bool kIsSigned> class FourMaxima {
 public:
  __device__ void take(uint32_t bytes) {
    odd_ = larger(odd_, bytes);
    even_ = larger(even_, bytes << 8);
  }
  __device__ uint32_t bytes() const { return __byte_perm(even_, odd_, 0x7351); }

 private:
  static constexpr uint32_t kLowest = kIsSigned ? 0x80008000 : 0;
  __device__ static uint32_t larger(uint32_t a, uint32_t b) {
    return kIsSigned ? __vmaxs2(a, b) : __vmaxu2(a, b);
  }
  uint32_t even_ = kLowest, odd_ = kLowest;
};

template <bool kIsSigned, int kSide>
__global__ void __launch_bounds__(kThreads) pool_bytes(const __grid_constant__ ByteMaxima p) {
  const uint32_t at = blockIdx.x * kThreads + threadIdx.x;
  if (at >= p.count) return;
  uint32_t rest = at;  // and in the end the image
  const auto chunk = static_cast<int>(p.of_chunks.split(rest));
  const auto column = static_cast<int>(p.of_out_columns.split(rest));
  const auto line = static_cast<int>(p.of_out_lines.split(rest));
  const int first_line = static_cast<int>(rest) * p.lines.in;
  int columns[kSide];
#pragma unroll
  for (int i = 0; i < kSide; ++i) columns[i] = p.columns.element(column, i) * p.chunks + chunk;
  FourMaxima<kIsSigned> maxima[kBytes / 4];
#pragma unroll
  for (int i = 0; i < kSide; ++i) {
    const uint4* from = p.in + (first_line + p.lines.element(line, i)) * p.columns.in * p.chunks;
#pragma unroll
    for (const int offset : columns) {
      const uint4 bytes = __ldg(from + offset);
      maxima[0].take(bytes.x);
      maxima[1].take(bytes.y);
      maxima[2].take(bytes.z);
      maxima[3].take(bytes.w);
    }
  }
  p.out[at] = {maxima[0].bytes(), maxima[1].bytes(), maxima[2].bytes(), maxima[3].bytes()};
}

template <bool kIsSigned> bool launch_side(const ByteMaxima& p, int64_t side, cudaStream_t stream) {
  const unsigned blocks = (p.count + kThreads - 1) / kThreads;
  switch (side) {
    case 2:
      pool_bytes<kIsSigned, 2><<<blocks, kThreads, 0, stream>>>(p);
      return true;
    case 3:
      pool_bytes<kIsSigned, 3><<<blocks, kThreads, 0, stream>>>(p);
      return true;
    case 5:
      pool_bytes<kIsSigned, 5><<<blocks, kThreads, 0, stream>>>(p);
      return true;
    default:
      return false;
  }
}

/// Whether the windows hold neighbours, and an element of the data each.
bool are_dense(const WindowAxes& w, int axis) {
  const int64_t last = (w.out[axis] - 1) * w.stride[axis] - w.pre[axis];
  return w.dilation[axis] == 1 && w.pre[axis] < w.kernel[axis] && last < w.in[axis];
}

}  // namespace

bool launch_byte_maxima(const PoolingParameters& p, cudaStream_t stream) {
  const WindowAxes& w = p.axes;
  const auto address = reinterpret_cast<uintptr_t>(p.in) | reinterpret_cast<uintptr_t>(p.out);
  constexpr int64_t kMaxChunks = INT32_MAX;
  const int64_t in_chunks = p.images * w.in[1] * w.in[2] * p.channels / kBytes;
  const int64_t out_chunks = p.images * w.out[1] * w.out[2] * p.channels / kBytes;
  const bool is_flat = w.in[0] == 1 && w.out[0] == 1 && w.kernel[0] == 1 && w.pre[0] == 0;
  if (!p.channels_last || p.indices != nullptr || !is_flat || w.kernel[1] != w.kernel[2]
      || !are_dense(w, 1) || !are_dense(w, 2) || p.channels % kBytes != 0 || address % kBytes != 0
      || in_chunks > kMaxChunks || out_chunks > kMaxChunks)
    return false;
  const auto windows = [&](int axis) {
    return WindowsOfBytes{static_cast<int>(w.in[axis]), static_cast<int>(w.stride[axis]),
                          static_cast<int>(w.pre[axis])};
  };
  const int64_t chunks = p.channels / kBytes;
  const ByteMaxima maxima{static_cast<const uint4*>(p.in),
                          static_cast<uint4*>(p.out),
                          windows(1),
                          windows(2),
                          static_cast<int>(chunks),
                          Divider(chunks),
                          Divider(w.out[2]),
                          Divider(w.out[1]),
                          static_cast<uint32_t>(out_chunks)};
  return p.type == DataType::kINT8 ? launch_side<true>(maxima, w.kernel[1], stream)
                                   : launch_side<false>(maxima, w.kernel[1], stream);
}

}  // namespace tenon::cuda
