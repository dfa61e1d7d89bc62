// Attention in float32 arithmetic, for any floating-point type.
#include <algorithm>

#include "cuda/attention.cuh"
#include "cuda/groups.cuh"

namespace tenon::cuda {
namespace {

constexpr int kWarps = 4, kRows = 8;  // queries of a warp
constexpr int kBlockRows = kWarps * kRows, kKeys = 32;

// Rows of `size` elements in shared memory, padded with zeros to whole float4s; an odd number of
// those lies between rows, so that neighbouring lanes read different banks.
struct Rows {
  float* data;
  int size, step;

  __host__ __device__ static constexpr int step_of(int size) { return ((size + 3) / 4 | 1) * 4; }
  __device__ Rows(float* memory, int elements)
      : data(memory), size(elements), step(step_of(elements)) {}
  const __device__ float4& four(int row, int e) const {
    return *reinterpret_cast<const float4*>(data + row * step + e);
  }
  // `rows` of them, of which `count` are there.
  template <class T>
  __device__ void fill(const T* from, int64_t row_step, int rows, int count) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int row = static_cast<int>(threadIdx.x) / 32; row < rows; row += kWarps)
      for (int e = lane; e < step; e += 32)
        data[row * step + e] = row < count && e < size ? to_float(from[row * row_step + e]) : 0.f;
  }
};

// A warp has kRows queries. Each lane has a key of the tile for the scores, and kWidth columns of
// the result.
template <class T, int kWidth> __global__ void attend(AttentionParameters p) {
  extern __shared__ __align__(16) float shared[];
  const int tiles = (p.queries + kBlockRows - 1) / kBlockRows;
  const int64_t head_of_all = blockIdx.x / tiles;
  const int64_t batch = head_of_all / p.heads;
  const int head = static_cast<int>(head_of_all % p.heads);
  const int block_row = static_cast<int>(blockIdx.x % tiles) * kBlockRows;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const Rows queries(shared, p.size);
  const Rows shares(queries.data + kBlockRows * queries.step + warp * kRows * Rows::step_of(kKeys),
                    kKeys);
  float* tile = queries.data + kBlockRows * (queries.step + Rows::step_of(kKeys));
  const Rows keys(tile, p.size), values(tile, p.width);
  const T* key = vectors<T>(p.key, batch, head / p.shared);
  const T* value = vectors<T>(p.value, batch, head / p.shared);
  queries.fill(vectors<T>(p.query, batch, head) + block_row * p.query.row_step, p.query.row_step,
               kBlockRows, p.queries - block_row);

  Visible range[kRows];
  int first = p.keys, end = 0;
  float largest[kRows], total[kRows], sum[kRows][kWidth];
  int64_t mask[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = block_row + warp * kRows + r;
    range[r] = row < p.queries ? visible(p, batch, row) : Visible{0, 0};
    mask[r] = mask_row(p, batch, head, min(row, p.queries - 1));
    largest[r] = -INFINITY;
    total[r] = 0;
#pragma unroll
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
    keys.fill(key + start * p.key.row_step, p.key.row_step, kKeys, count);
    __syncthreads();
    float score[kRows] = {};
    for (int e = 0; e < p.size; e += 4) {
      const float4 k = keys.four(lane, e);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float4 q = queries.four(warp * kRows + r, e);
        score[r] += q.x * k.x + q.y * k.y + q.z * k.z + q.w * k.w;
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float x = score[r] * p.scale;
      if (p.softcap > 0) x = p.softcap * tanhf(x / p.softcap);
      const bool sees = own >= range[r].first && own < range[r].end;
      const float added = sees && p.mask != nullptr ? masked<T>(p, mask[r], own) : 0.f;
      x = !sees || added == -INFINITY ? -INFINITY : x + added;
      if (p.softmax) {
        const float before = largest[r];
        largest[r] = fmaxf(before, warp_max(x));
        const float base = largest[r] == -INFINITY ? 0.f : largest[r];
        const float change = __expf(before - base);
        x = __expf(x - base);
        total[r] = total[r] * change + warp_sum(x);
#pragma unroll
        for (int w = 0; w < kWidth; ++w) sum[r][w] *= change;
      } else if (x == -INFINITY) {
        x = 0;
      }
      shares.data[r * shares.step + lane] = x;
    }
    __syncthreads();
    values.fill(value + start * p.value.row_step, p.value.row_step, kKeys, count);
    __syncthreads();
    for (int k = 0; k < count; k += 4) {  // shares beyond are 0, and so are values
      float v[4][kWidth];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int w = 0; w < kWidth; ++w) {
          const int column = lane + 32 * w;
          v[i][w] = column < p.width ? values.data[(k + i) * values.step + column] : 0.f;
        }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float4 share = shares.four(r, k);
#pragma unroll
        for (int w = 0; w < kWidth; ++w)
          sum[r][w] +=
              share.x * v[0][w] + share.y * v[1][w] + share.z * v[2][w] + share.w * v[3][w];
      }
    }
  }
  const Quantized quantized(p.byte_rule);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = block_row + warp * kRows + r;
    if (row >= p.queries) break;
    const float factor = !p.softmax ? 1.f : total[r] == 0 ? 0.f : 1 / total[r];
    T* to = result_of<T>(p, batch, head) + row * p.result.row_step;
    uint8_t* bytes = result_of<uint8_t>(p, batch, head) + row * p.result.row_step;
#pragma unroll
    for (int w = 0; w < kWidth; ++w) {
      const int column = lane + 32 * w;
      const float x = sum[r][w] * factor;
      if (column >= p.width) continue;
      if (p.gives_bytes)
        bytes[column] = byte_of<T>(quantized, x);
      else
        to[column] = from_float<T>(x);
    }
  }
}

template <class T, int kWidth> void launch(const AttentionParameters& p, cudaStream_t stream) {
  const int floats = kBlockRows * (Rows::step_of(p.size) + Rows::step_of(kKeys))
                     + kKeys * Rows::step_of(std::max(p.size, p.width));
  const size_t bytes = sizeof(float) * static_cast<size_t>(floats);
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
