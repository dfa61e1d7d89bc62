#include <algorithm>

#include "cuda/elements.cuh"
#include "cuda/groups.cuh"
#include "cuda/softmax.h"

namespace tenon::cuda {
namespace {

// The largest of some numbers, and the sum of exp(x - largest).
struct Online {
  float largest = -INFINITY, sum = 0;

  // What -infinity adds is 0, also while there is nothing else.
  __device__ static float term(float x, float largest) {
    return x == -INFINITY ? 0.f : __expf(x - largest);
  }
  __device__ void add(float x) {
    if (x > largest) {
      sum = sum * term(largest, x) + 1;
      largest = x;
    } else {
      sum += term(x, largest);
    }
  }
  __device__ void add(const Online& other) {
    const float both = fmaxf(largest, other.largest);
    sum = sum * term(largest, both) + other.sum * term(other.largest, both);
    largest = both;
  }
  // With no number above -infinity that is NaN, as in the definition.
  __device__ float share(float x) const { return __expf(x - largest) / sum; }
};

__device__ int64_t length_of(const SoftmaxParameters& p, int64_t row) {
  if (p.lengths == nullptr) return p.extent;
  const int64_t length = p.length_type == DataType::kINT64
                             ? static_cast<const int64_t*>(p.lengths)[row]
                             : static_cast<const int32_t*>(p.lengths)[row];
  return length < 0 ? 0 : length < p.extent ? length : p.extent;
}

// Rows of up to 32 * kItems packs, kept in the registers of a warp.
template <class T, int kPack, int kItems> __global__ void warp_rows(SoftmaxParameters p) {
  const int64_t row = blockIdx.x * int64_t{blockDim.y} + threadIdx.y;
  if (row >= p.outer) return;
  using Elements = Pack<T, kPack>;
  const auto* from =
      reinterpret_cast<const Elements*>(static_cast<const T*>(p.data) + row * p.extent);
  auto* to = reinterpret_cast<Elements*>(static_cast<T*>(p.result) + row * p.extent);
  const int packs = static_cast<int>(p.extent / kPack),
            length = static_cast<int>(length_of(p, row));
  float x[kItems][kPack];
  float largest = -INFINITY;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * 32;
    Elements e;
    if (at < packs) e = from[at];
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      x[i][k] = at * kPack + k < length ? to_float(e.values[k]) : -INFINITY;
      largest = fmaxf(largest, x[i][k]);
    }
  }
  largest = warp_max(largest);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i)
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const bool counts = (static_cast<int>(threadIdx.x) + i * 32) * kPack + k < length;
      x[i][k] = counts ? __expf(x[i][k] - largest) : 0.f;
      sum += x[i][k];
    }
  const float factor = 1 / warp_sum(sum);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * 32;
    Elements e;
#pragma unroll
    for (int k = 0; k < kPack; ++k)
      e.values[k] = from_float<T>(at * kPack + k < length ? x[i][k] * factor : 0.f);
    if (at < packs) to[at] = e;
  }
}

constexpr int kBlock = 512;

// A block for each row, which is read twice.
template <class T> __global__ void block_rows(SoftmaxParameters p) {
  const int64_t row = blockIdx.x, length = length_of(p, row);
  const T* from = static_cast<const T*>(p.data) + row * p.extent;
  T* to = static_cast<T*>(p.result) + row * p.extent;
  Online mine;
  for (int64_t i = threadIdx.x; i < length; i += kBlock) mine.add(to_float(from[i]));
  Online all;
  all.largest = block_max<kBlock>(mine.largest);
  all.sum = block_sum<kBlock>(mine.sum * Online::term(mine.largest, all.largest));
  for (int64_t i = threadIdx.x; i < p.extent; i += kBlock)
    to[i] = from_float<T>(i < length ? all.share(to_float(from[i])) : 0.f);
}

constexpr int kColumns = 32, kSlices = 8;

// Neighbours belong to different rows: a warp takes 32 of them, each of its block a slice of rows.
template <class T> __global__ void columns(SoftmaxParameters p) {
  __shared__ Online parts[kSlices][kColumns];
  const int64_t column_blocks = (p.inner + kColumns - 1) / kColumns;
  const int64_t outer = blockIdx.x / column_blocks;
  const int64_t column = blockIdx.x % column_blocks * kColumns + threadIdx.x;
  const bool is_inside = column < p.inner;
  const int64_t base = outer * p.extent * p.inner + column;
  const T* from = static_cast<const T*>(p.data) + base;
  T* to = static_cast<T*>(p.result) + base;
  Online mine;
  if (is_inside)
    for (int64_t i = threadIdx.y; i < p.extent; i += kSlices) mine.add(to_float(from[i * p.inner]));
  parts[threadIdx.y][threadIdx.x] = mine;
  __syncthreads();
  if (!is_inside) return;
  Online all;
  for (int s = 0; s < kSlices; ++s) all.add(parts[s][threadIdx.x]);
  for (int64_t i = threadIdx.y; i < p.extent; i += kSlices)
    to[i * p.inner] = from_float<T>(all.share(to_float(from[i * p.inner])));
}

template <class T, int kPack>
bool launch_warp_rows(const SoftmaxParameters& p, cudaStream_t stream) {
  if (p.extent % kPack != 0 || !is_multiple(p.data, sizeof(T) * kPack)
      || !is_multiple(p.result, sizeof(T) * kPack))
    return false;
  constexpr int kRows = 4;
  const auto blocks = static_cast<unsigned>((p.outer + kRows - 1) / kRows);
  const dim3 threads(32, kRows);
  const int64_t items = (p.extent / kPack + 31) / 32;
  if (items <= 1)
    warp_rows<T, kPack, 1><<<blocks, threads, 0, stream>>>(p);
  else if (items <= 2)
    warp_rows<T, kPack, 2><<<blocks, threads, 0, stream>>>(p);
  else if (items <= 4)
    warp_rows<T, kPack, 4><<<blocks, threads, 0, stream>>>(p);
  else if (items <= 8)
    warp_rows<T, kPack, 8><<<blocks, threads, 0, stream>>>(p);
  else
    return false;
  return true;
}

}  // namespace

void launch_softmax(const SoftmaxParameters& p, cudaStream_t stream) {
  if (p.outer * p.extent * p.inner == 0) return;
  with_device_float(p.type, [&](auto zero) {
    using T = decltype(zero);
    if (p.inner > 1) {
      const int64_t blocks = p.outer * ((p.inner + kColumns - 1) / kColumns);
      columns<T><<<static_cast<unsigned>(blocks), dim3(kColumns, kSlices), 0, stream>>>(p);
    } else if (!launch_warp_rows<T, 16 / sizeof(T)>(p, stream)
               && !launch_warp_rows<T, 1>(p, stream)) {
      block_rows<T><<<static_cast<unsigned>(p.outer), kBlock, 0, stream>>>(p);
    }
  });
}

}  // namespace tenon::cuda
