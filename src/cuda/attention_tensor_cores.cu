// Attention of 16-bit vectors by tensor cores (mma.sync m16n8k16), with the online softmax of
// FlashAttention-2 (Dao 2023).
#include <algorithm>
#include <cfloat>

#include "cuda/attention.cuh"
#include "cuda/capability.h"
#include "cuda/tensor_cores.cuh"

namespace tenon::cuda {
namespace {

constexpr int kKeys = 64;      // of a tile
constexpr int kMaxWarps = 8;   // of a block; each has 16 queries
constexpr int kLongest = 128;  // elements of a vector
constexpr float kLog2E = 1.4426950408889634f;

template <class T> __device__ uint32_t pack(float low, float high) {
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&both);
  } else {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&both);
  }
}

__device__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Rows of kSize elements in shared memory, 16 bytes apart, so that eight rows lie in different
// banks.
template <class T, int kSize> struct Rows {
  static constexpr int kStep = kSize + 8;
  T* data;

  __device__ T* at(int row, int column) const { return data + row * kStep + column; }

  // `rows` of them, of which `count` are there and have `size` elements.
  __device__ void fill(const T* from, int64_t row_step, int rows, int count, int size) const {
    constexpr int kChunks = kSize / 8;
    for (int i = static_cast<int>(threadIdx.x); i < rows * kChunks;
         i += static_cast<int>(blockDim.x)) {
      const int row = i / kChunks, column = i % kChunks * 8;
      const bool is_there = row < count && column < size;
      copy_16(at(row, column), is_there ? from + row * row_step + column : from, is_there);
    }
  }
};

// The bounds of what the rows of a block see.
struct Bounds {
  int min_first, max_first, min_end, max_end;
};

template <class T, int kSize> struct Warp {
  const AttentionParameters& p;
  int64_t batch;
  int head, row;  // of the first of 16 queries
  int lane = static_cast<int>(threadIdx.x) % 32;
  uint32_t query[kSize / 16][4];
  float result[kSize / 8][4] = {};
  float largest[2] = {-INFINITY, -INFINITY}, total[2] = {};
  Visible range[2];
  int64_t mask[2];

  __device__ Warp(const AttentionParameters& parameters, int64_t b, int h, int first_row)
      : p(parameters), batch(b), head(h), row(first_row) {
    for (int half = 0; half < 2; ++half) {
      const int own = row_of(half);
      range[half] = own < p.queries ? visible(p, batch, own) : Visible{p.keys, 0};
      mask[half] = mask_row(p, batch, head, min(own, p.queries - 1));
    }
  }
  // A lane has elements of two rows.
  __device__ int row_of(int half) const { return row + lane / 4 + 8 * half; }

  __device__ void load_query(const Rows<T, kSize>& rows, int first) {
    const int m = lane / 8, r = lane % 8;
#pragma unroll
    for (int k = 0; k < kSize / 16; ++k)
      load_matrices(query[k], rows.at(first + m % 2 * 8 + r, k * 16 + m / 2 * 8));
  }

  // The last tile may have fewer keys; in others no branch keeps products from following each other
  // without waiting.
  __device__ void attend(const Rows<T, kSize>& key, const Rows<T, kSize>& value, int start,
                         int count, bool all_seen) {
    if (count == kKeys)
      attend_tile<true>(key, value, start, kKeys, all_seen);
    else
      attend_tile<false>(key, value, start, count, all_seen);
  }

  template <bool kIsWhole>
  __device__ void attend_tile(const Rows<T, kSize>& key, const Rows<T, kSize>& value, int start,
                              int count, bool all_seen) {
    float score[kKeys / 8][4];
    const int m = lane / 8, r = lane % 8;
#pragma unroll
    for (int j = 0; j < kKeys / 16; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) score[2 * j][i] = score[2 * j + 1][i] = 0;
      if (!kIsWhole && j * 16 >= count) continue;
#pragma unroll
      for (int k = 0; k < kSize / 16; ++k) {
        uint32_t b[4];
        load_matrices(b, key.at(j * 16 + m / 2 * 8 + r, k * 16 + m % 2 * 8));
        multiply_add<T>(score[2 * j], query[k], b[0], b[1]);
        multiply_add<T>(score[2 * j + 1], query[k], b[2], b[3]);
      }
    }
    take_shares(score, start, count, all_seen);
#pragma unroll
    for (int j = 0; j < kKeys / 16; ++j) {
      if (!kIsWhole && j * 16 >= count) break;
      const uint32_t a[4] = {pack<T>(score[2 * j][0], score[2 * j][1]),
                             pack<T>(score[2 * j][2], score[2 * j][3]),
                             pack<T>(score[2 * j + 1][0], score[2 * j + 1][1]),
                             pack<T>(score[2 * j + 1][2], score[2 * j + 1][3])};
#pragma unroll
      for (int w = 0; w < kSize / 16; ++w) {
        uint32_t b[4];
        load_transposed(b, value.at(j * 16 + m % 2 * 8 + r, w * 16 + m / 2 * 8));
        multiply_add<T>(result[2 * w], a, b[0], b[1]);
        multiply_add<T>(result[2 * w + 1], a, b[2], b[3]);
      }
    }
  }

  // Calls body(score, key, half) for all of the lane's scores. What is the same for all of them is
  // asked outside, once, so that the loop has no branches.
  template <class Body>
  __device__ void each(float (&score)[kKeys / 8][4], int count, const Body& body) const {
    const auto part = [&](int j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) body(score[j][i], j * 8 + lane % 4 * 2 + i % 2, i / 2);
    };
    if (count == kKeys) {
#pragma unroll
      for (int j = 0; j < kKeys / 8; ++j) part(j);
    } else {
#pragma unroll
      for (int j = 0; j < kKeys / 8; ++j)
        if (j / 2 * 16 < count) part(j);
    }
  }

  // Scores become shares, which are still to be divided by their total.
  __device__ void take_shares(float (&score)[kKeys / 8][4], int start, int count, bool all_seen) {
    const float factor = p.scale * kLog2E;
    float row_max[2] = {largest[0], largest[1]};
    if (p.softcap > 0)
      each(score, count, [&](float& x, int, int) { x = capped(x * factor); });
    else
      each(score, count, [&](float& x, int, int) { x *= factor; });
    if (!all_seen)
      each(score, count, [&](float& x, int key, int half) {
        const int k = start + key;
        x = k >= range[half].first && k < range[half].end ? x : -INFINITY;
      });
    if (p.mask != nullptr)
      each(score, count, [&](float& x, int key, int half) {
        if (x != -INFINITY) x = with_mask(x, mask[half], start + key);
      });
    each(score, count, [&](float& x, int, int half) { row_max[half] = fmaxf(row_max[half], x); });
    float base[2], change[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // Four lanes have a row.
      row_max[half] = fmaxf(row_max[half], __shfl_xor_sync(0xffffffffu, row_max[half], 1));
      row_max[half] = fmaxf(row_max[half], __shfl_xor_sync(0xffffffffu, row_max[half], 2));
      base[half] = row_max[half] == -INFINITY ? 0.f : row_max[half];
      change[half] = power_of_two(largest[half] - base[half]);
      largest[half] = row_max[half];
      total[half] *= change[half];
    }
    each(score, count, [&](float& x, int, int half) {
      x = power_of_two(x - base[half]);
      total[half] += x;
    });
#pragma unroll
    for (int j = 0; j < kSize / 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) result[j][i] *= change[i / 2];
  }

  // softcap * tanh(x / softcap), of numbers times log2(e).
  __device__ float capped(float x) const {
    const float power = power_of_two(__fdividef(2 * x, p.softcap));
    return p.softcap * kLog2E * (1 - __fdividef(2.f, 1 + power));
  }
  __device__ float with_mask(float x, int64_t mask_row, int key) const {
    const float added = masked<T>(p, mask_row, key);
    // The least number that may stand for -infinity stays a number, times log2(e).
    return added == -INFINITY ? -INFINITY : fmaxf(x + added * kLog2E, -FLT_MAX);
  }

  __device__ void store() const {
    T* to = result_of<T>(p, batch, head);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = total[half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const float factor = sum == 0 ? 0.f : 1 / sum;
      const int own = row_of(half);
      if (own >= p.queries) continue;
#pragma unroll
      for (int j = 0; j < kSize / 8; ++j)
        if (j * 8 < p.width)
          *reinterpret_cast<uint32_t*>(to + own * p.result.row_step + j * 8 + lane % 4 * 2) =
              pack<T>(result[j][2 * half] * factor, result[j][2 * half + 1] * factor);
    }
  }
};

template <class T, int kSize>
__global__ void __launch_bounds__(kMaxWarps * 32, kSize <= 64 ? 2 : 1)
    attend(AttentionParameters p) {
#if __CUDA_ARCH__ >= 800  // older GPUs lack these instructions, and it is not launched there
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Bounds bounds;
  using Tile = Rows<T, kSize>;
  const int warps = static_cast<int>(blockDim.x) / 32, rows = warps * 16;
  const int tiles = (p.queries + rows - 1) / rows;
  const int64_t head_of_all = blockIdx.x / tiles, batch = head_of_all / p.heads;
  const int head = static_cast<int>(head_of_all % p.heads);
  const int block_row = static_cast<int>(blockIdx.x % tiles) * rows;
  const Tile query{reinterpret_cast<T*>(shared)};
  const auto buffer = [&](int i) { return Tile{query.at(rows + i * kKeys, 0)}; };
  const T* keys = vectors<T>(p.key, batch, head / p.shared);
  const T* values = vectors<T>(p.value, batch, head / p.shared);

  query.fill(vectors<T>(p.query, batch, head) + block_row * p.query.row_step, p.query.row_step,
             rows, p.queries - block_row, p.size);
  const int first_row = static_cast<int>(threadIdx.x) / 32 * 16;
  Warp<T, kSize> warp(p, batch, head, block_row + first_row);
  if (threadIdx.x == 0) bounds = {p.keys, 0, p.keys, 0};
  __syncthreads();
  for (int half = 0; half < 2; ++half) {
    // A row that is not there changes no bound.
    const bool is_row = warp.row_of(half) < p.queries;
    const Visible v = warp.range[half];
    const int min_first = __reduce_min_sync(~0u, is_row ? v.first : p.keys);
    const int max_first = __reduce_max_sync(~0u, is_row ? v.first : 0);
    const int min_end = __reduce_min_sync(~0u, is_row ? v.end : p.keys);
    const int max_end = __reduce_max_sync(~0u, is_row ? v.end : 0);
    if (warp.lane != 0) continue;
    atomicMin(&bounds.min_first, min_first);
    atomicMax(&bounds.max_first, max_first);
    atomicMin(&bounds.min_end, min_end);
    atomicMax(&bounds.max_end, max_end);
  }
  __syncthreads();
  const Bounds seen = bounds;
  const int begin = seen.min_first / kKeys * kKeys, end = seen.max_end;
  const auto load = [&](int start, int i) {
    const int count = end - start;
    buffer(2 * i).fill(keys + start * p.key.row_step, p.key.row_step, kKeys, count, p.size);
    buffer(2 * i + 1).fill(values + start * p.value.row_step, p.value.row_step, kKeys, count,
                           p.width);
    end_group();
  };
  if (begin < end) load(begin, 0);
  int now = 0;
  for (int start = begin; start < end; start += kKeys, now ^= 1) {
    if (start + kKeys < end) {
      load(start + kKeys, now ^ 1);
      wait_for_groups<1>();
    } else {
      wait_for_groups<0>();
    }
    __syncthreads();
    if (start == begin) warp.load_query(query, first_row);
    const bool all_seen =
        p.mask == nullptr && seen.max_first <= start && start + kKeys <= seen.min_end;
    warp.attend(buffer(2 * now), buffer(2 * now + 1), start, min(kKeys, end - start), all_seen);
    __syncthreads();
  }
  wait_for_groups<0>();
  warp.store();
#endif
}

// Warps of a block, so that the GPU is done soonest: it takes as many blocks at a time as it has
// processors, or several times that, which comes to the same.
int choose_warps(const AttentionParameters& p) {
  const int processors = multiprocessors();
  int best = 1;
  int64_t min_work = INT64_MAX;
  for (int warps = kMaxWarps; warps >= 1; --warps) {
    const int64_t blocks = (p.queries + 16 * warps - 1) / (16 * warps) * p.batch * p.heads;
    // Keys are loaded once for each block, which costs about as much as 32 rows.
    const int64_t work = (blocks + processors - 1) / processors * (16 * warps + 32);
    if (work >= min_work) continue;
    min_work = work;
    best = warps;
  }
  return best;
}

template <class T, int kSize> void launch(const AttentionParameters& p, cudaStream_t stream) {
  const int warps = choose_warps(p), rows = 16 * warps;
  const size_t bytes = sizeof(T) * static_cast<size_t>((rows + 4 * kKeys) * Rows<T, kSize>::kStep);
  cudaFuncSetAttribute(attend<T, kSize>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(bytes));
  const int64_t tiles = (p.queries + rows - 1) / rows;
  attend<T, kSize><<<static_cast<unsigned>(tiles * p.batch * p.heads),
                     static_cast<unsigned>(32 * warps), bytes, stream>>>(p);
}

template <class T> void launch(const AttentionParameters& p, cudaStream_t stream) {
  const int longest = std::max(p.size, p.width);
  if (longest <= 32)
    launch<T, 32>(p, stream);
  else if (longest <= 64)
    launch<T, 64>(p, stream);
  else if (longest <= 96)
    launch<T, 96>(p, stream);
  else
    launch<T, 128>(p, stream);
}

bool is_aligned(const AttentionParameters::Vectors& v) {
  return is_multiple(v.data, 16) && v.offset % 8 == 0 && v.batch_step % 8 == 0
         && v.head_step % 8 == 0 && v.row_step % 8 == 0;
}

}  // namespace

bool tensor_cores_attend(const AttentionParameters& p) {
  return (p.type == DataType::kHALF || p.type == DataType::kBF16) && p.softmax && p.size <= kLongest
         && p.width <= kLongest && p.size % 8 == 0 && p.width % 8 == 0 && is_aligned(p.query)
         && is_aligned(p.key) && is_aligned(p.value) && is_aligned(p.result) && has_capability(8);
}

void launch_tensor_core_attention(const AttentionParameters& p, cudaStream_t stream) {
  if (p.type == DataType::kHALF)
    launch<__half>(p, stream);
  else
    launch<__nv_bfloat16>(p, stream);
}

}  // namespace tenon::cuda
