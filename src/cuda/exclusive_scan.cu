#include "cuda/exclusive_scan.h"
#include "cuda/grid.cuh"

namespace tenon::cuda {
namespace {

// One block: each thread adds up a part.
__global__ void add_up(int64_t* counts, int64_t count) {
  __shared__ int64_t sums[kThreads];
  const int64_t each = (count + kThreads - 1) / kThreads;
  const int64_t first = threadIdx.x * each, begin = first < count ? first : count;
  const int64_t end = begin + each < count ? begin + each : count;
  int64_t sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += counts[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  int64_t before = 0;
  for (unsigned i = 0; i < threadIdx.x; ++i) before += sums[i];
  for (int64_t i = begin; i < end; ++i) {
    const int64_t own = counts[i];
    counts[i] = before;
    before += own;
  }
  if (threadIdx.x == kThreads - 1) counts[count] = before;
}

}  // namespace

void launch_exclusive_scan(int64_t* counts, int64_t count, cudaStream_t stream) {
  launch(add_up, 1, kThreads, stream, counts, count);
}

}  // namespace tenon::cuda
