#include "cuda/element_types.cuh"
#include "cuda/exclusive_scan.h"
#include "cuda/non_zero.h"

namespace tenon::cuda {
namespace {

template <class E> __device__ bool is_non_zero(E element) {
  if constexpr (std::is_integral_v<E>)
    return element != E{};
  else
    return static_cast<float>(element) != 0;
}

// How many threads before this one say yes; `total` of the block. All threads call it.
__device__ int count_before(bool yes, int& total) {
  __shared__ int warps[kThreads / 32];
  const unsigned votes = __ballot_sync(~0u, yes);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  if (lane == 0) warps[warp] = __popc(votes);
  __syncthreads();
  int before = __popc(votes & ((1u << lane) - 1));
  total = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w < warp) before += warps[w];
    total += warps[w];
  }
  __syncthreads();  // the next call writes here
  return before;
}

template <class E> __global__ void count_chunks(NonZeroElements elements) {
  const auto* data = static_cast<const E*>(elements.data);
  for (int64_t chunk = blockIdx.x; chunk < elements.chunks(); chunk += gridDim.x) {
    int sum = 0;
    for (int64_t i = 0; i < kNonZeroChunk; i += kThreads) {
      const int64_t at = chunk * kNonZeroChunk + i + threadIdx.x;
      int total = 0;
      count_before(at < elements.count && is_non_zero(data[at]), total);
      sum += total;
    }
    if (threadIdx.x == 0) elements.begins[chunk] = sum;
  }
}

template <class E, class Index>
__global__ void write_indices(NonZeroElements elements, NonZeroIndices indices) {
  const auto* data = static_cast<const E*>(elements.data);
  auto* target = static_cast<Index*>(indices.target);
  for (int64_t chunk = blockIdx.x; chunk < elements.chunks(); chunk += gridDim.x) {
    int64_t column = elements.begins[chunk];
    for (int64_t i = 0; i < kNonZeroChunk; i += kThreads) {
      const int64_t at = chunk * kNonZeroChunk + i + threadIdx.x;
      const bool yes = at < elements.count && is_non_zero(data[at]);
      int total = 0;
      const int64_t own = column + count_before(yes, total);
      column += total;
      if (!yes) continue;
      int64_t rest = at;
      for (int axis = indices.axes - 1; axis >= 0; --axis) {
        target[axis * indices.columns + own] = static_cast<Index>(rest % indices.extents[axis]);
        rest /= indices.extents[axis];
      }
    }
  }
}

}  // namespace

void launch_non_zero_count(const NonZeroElements& elements, cudaStream_t stream) {
  with_element(elements.type, [&](auto zero) {
    launch(count_chunks<decltype(zero)>, blocks_for(elements.chunks(), 1), kThreads, stream,
           elements);
  });
  launch_exclusive_scan(elements.begins, elements.chunks(), stream);
}

void launch_non_zero_indices(const NonZeroElements& elements, const NonZeroIndices& indices,
                             cudaStream_t stream) {
  with_element(elements.type, [&](auto zero) {
    using E = decltype(zero);
    launch(indices.is_wide ? write_indices<E, int64_t> : write_indices<E, int32_t>,
           blocks_for(elements.chunks(), 1), kThreads, stream, elements, indices);
  });
}

}  // namespace tenon::cuda
