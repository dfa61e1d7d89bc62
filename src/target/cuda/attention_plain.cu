// Attention in float32 arithmetic, for any floating-point type.
#include <algorithm>

#include "target/cuda/attention.cuh"
#include "target/cuda/groups.cuh"

namespace tenon::cuda {
namespace {

constexpr int kWarps = 4, kRows = 4;  // queries of a warp
constexpr int kBlockRows = kWarps * kRows, kKeys = 32;

// A tile of keys or values in shared memory: rows of `size` elements at steps of `step`, zeros
// beyond `count`.
template <class T>
__device__ void fill(const T* from, int64_t row_step, int count, int size, int step, int rows,
                     float* to) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * size; i += kWarps * 32) {
    const int row = i / size, e = i % size;
    to[row * step + e] = row < count ? to_float(from[row * row_step + e]) : 0.f;
  }
}

// A warp has kRows queries. Each lane has a key of the tile for the scores, and kWidth columns of
// the result.
template <class T, int kWidth> __global__ void attend(AttentionParameters p) {
  extern __shared__ float shared[];
  const int tiles = (p.queries + kBlockRows - 1) / kBlockRows;
  const int64_t head_of_all = blockIdx.x / tiles;
  const int64_t batch = head_of_all / p.heads;
  const int head = static_cast<int>(head_of_all % p.heads);
  const int block_row = static_cast<int>(blockIdx.x % tiles) * kBlockRows;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int step = max(p.size, p.width) + 1;  // odd or not, lanes read different banks
  float* queries = shared;
  float* tile = queries + kBlockRows * p.size;
  const T* key = vectors<T>(p.key, batch, head / p.shared);
  const T* value = vectors<T>(p.value, batch, head / p.shared);
  fill(vectors<T>(p.query, batch, head) + block_row * p.query.row_step, p.query.row_step,
       p.queries - block_row, p.size, p.size, kBlockRows, queries);

  Visible range[kRows];
  int first = p.keys, end = 0;
  float largest[kRows], total[kRows], sum[kRows][kWidth];
  const float* query[kRows];
  int64_t mask[kRows];
  for (int r = 0; r < kRows; ++r) {
    const int row = block_row + warp * kRows + r;
    range[r] = row < p.queries ? visible(p, batch, row) : Visible{0, 0};
    mask[r] = mask_row(p, batch, head, min(row, p.queries - 1));
    query[r] = queries + (warp * kRows + r) * p.size;
    largest[r] = -INFINITY;
    total[r] = 0;
    for (int w = 0; w < kWidth; ++w) sum[r][w] = 0;
  }
  for (int row = block_row; row < min(block_row + kBlockRows, p.queries); ++row) {
    const Visible v = visible(p, batch, row);
    first = min(first, v.first);
    end = max(end, v.end);
  }
  for (int start = first; start < end; start += kKeys) {
    const int count = min(kKeys, end - start), own = start + lane;
    __syncthreads();
    fill(key + start * p.key.row_step, p.key.row_step, count, p.size, step, kKeys, tile);
    __syncthreads();
    float score[kRows] = {};
    for (int e = 0; e < p.size; ++e) {
      const float k = tile[lane * step + e];
      for (int r = 0; r < kRows; ++r) score[r] += query[r][e] * k;
    }
    for (int r = 0; r < kRows; ++r) {
      float x = score[r] * p.scale;
      if (p.softcap > 0) x = p.softcap * tanhf(x / p.softcap);
      const bool sees = own >= range[r].first && own < range[r].end;
      const float added = sees && p.mask != nullptr ? masked<T>(p, mask[r], own) : 0.f;
      x = !sees || added == -INFINITY ? -INFINITY : x + added;
      if (!p.softmax) {
        score[r] = x == -INFINITY ? 0.f : x;
        continue;
      }
      const float before = largest[r];
      largest[r] = fmaxf(before, warp_max(x));
      const float base = largest[r] == -INFINITY ? 0.f : largest[r];
      const float change = __expf(before - base);
      score[r] = __expf(x - base);
      total[r] = total[r] * change + warp_sum(score[r]);
      for (int w = 0; w < kWidth; ++w) sum[r][w] *= change;
    }
    __syncthreads();
    fill(value + start * p.value.row_step, p.value.row_step, count, p.width, step, kKeys, tile);
    __syncthreads();
    for (int k = 0; k < count; ++k) {
      float share[kRows];
      for (int r = 0; r < kRows; ++r) share[r] = __shfl_sync(0xffffffffu, score[r], k);
      for (int w = 0; w < kWidth; ++w) {
        const int column = lane + 32 * w;
        const float v = column < p.width ? tile[k * step + column] : 0.f;
        for (int r = 0; r < kRows; ++r)
          if (share[r] != 0) sum[r][w] += share[r] * v;
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    const int row = block_row + warp * kRows + r;
    if (row >= p.queries) break;
    const float factor = !p.softmax ? 1.f : total[r] == 0 ? 0.f : 1 / total[r];
    T* to = result_of<T>(p, batch, head) + row * p.result.row_step;
    for (int w = 0; w < kWidth; ++w)
      if (const int column = lane + 32 * w; column < p.width)
        to[column] = from_float<T>(sum[r][w] * factor);
  }
}

template <class T, int kWidth> void launch(const AttentionParameters& p, cudaStream_t stream) {
  const size_t bytes =
      sizeof(float)
      * static_cast<size_t>(kBlockRows * p.size + kKeys * (std::max(p.size, p.width) + 1));
  constexpr size_t kWithoutAsking = 48 << 10;
  if (bytes > kWithoutAsking)
    cudaFuncSetAttribute(attend<T, kWidth>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(bytes));
  const int64_t tiles = (p.queries + kBlockRows - 1) / kBlockRows;
  attend<T, kWidth>
      <<<static_cast<unsigned>(tiles * p.batch * p.heads), kWarps * 32, bytes, stream>>>(p);
}

}  // namespace

void launch_plain_attention(const AttentionParameters& p, cudaStream_t stream) {
  with_device_float(p.type, [&](auto zero) {
    using T = decltype(zero);
    if (p.width <= 32)
      launch<T, 1>(p, stream);
    else if (p.width <= 64)
      launch<T, 2>(p, stream);
    else if (p.width <= 128)
      launch<T, 4>(p, stream);
    else
      launch<T, 8>(p, stream);
  });
}

}  // namespace tenon::cuda
