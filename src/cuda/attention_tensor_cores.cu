// Attention of 16-bit vectors by tensor cores (mma.sync m16n8k16).
#include <algorithm>

#include "cuda/attention_softmax.cuh"
#include "cuda/capability.h"
#include "cuda/tensor_cores.cuh"

namespace tenon::cuda {
namespace {

constexpr int kKeys = 64;      // of a tile
constexpr int kMaxWarps = 8;   // of a block; each has 16 queries
constexpr int kLongest = 128;  // elements of a vector

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

template <class T, int kSize> struct Warp {
  const AttentionParameters& p;
  OnlineSoftmax<T, kSize, kKeys> softmax;
  int lane = static_cast<int>(threadIdx.x) % 32;
  uint32_t query[kSize / 16][4];

  // Of sixteen queries.
  __device__ Warp(const AttentionParameters& parameters, int64_t batch, int head, int first_row)
      : p(parameters), softmax(p, batch, head, first_row) {}

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
    softmax.take_shares(score, start, count, all_seen);
#pragma unroll
    for (int j = 0; j < kKeys / 16; ++j) {
      if (!kIsWhole && j * 16 >= count) break;
      uint32_t a[4];
      softmax.pack_shares(score, j, a);
#pragma unroll
      for (int w = 0; w < kSize / 16; ++w) {
        uint32_t b[4];
        load_transposed(b, value.at(j * 16 + m % 2 * 8 + r, w * 16 + m / 2 * 8));
        multiply_add<T>(softmax.result[2 * w], a, b[0], b[1]);
        multiply_add<T>(softmax.result[2 * w + 1], a, b[2], b[3]);
      }
    }
  }

  // Calls body(offset, low, high) for neighbours of the result, which the width is a multiple of.
  template <class Body> __device__ void each_pair(const Body& body) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = softmax.factor(half);
      const int own = softmax.row_of(half);
      if (own >= p.queries) continue;
#pragma unroll
      for (int j = 0; j < kSize / 8; ++j)
        if (j * 8 < p.width)
          body(own * p.result.row_step + j * 8 + lane % 4 * 2, softmax.result[j][2 * half] * factor,
               softmax.result[j][2 * half + 1] * factor);
    }
  }
  __device__ void store(int64_t batch, int head) const {
    if (p.gives_bytes) {
      uint8_t* to = result_of<uint8_t>(p, batch, head);
      const Quantized quantized(p.byte_rule);
      each_pair([&](int64_t at, float low, float high) {
        *reinterpret_cast<uint16_t*>(to + at) = bytes_of<T>(quantized, low, high);
      });
    } else {
      T* to = result_of<T>(p, batch, head);
      each_pair([&](int64_t at, float low, float high) {
        *reinterpret_cast<uint32_t*>(to + at) = pack<T>(low, high);
      });
    }
  }
};

template <class T, int kSize>
__global__ void __launch_bounds__(kMaxWarps * 32, kSize <= 64 ? 2 : 1)
    attend(AttentionParameters p) {
#if __CUDA_ARCH__ >= 800  // older GPUs lack these instructions, and it is not launched there
  extern __shared__ __align__(16) unsigned char shared[];
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
  const VisibleTogether seen(p, batch, block_row, min(block_row + rows, p.queries) - 1);
  const int begin = seen.begin(kKeys), end = seen.end();
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
    const bool all_seen = p.mask == nullptr && seen.all(start, start + kKeys);
    warp.attend(buffer(2 * now), buffer(2 * now + 1), start, min(kKeys, end - start), all_seen);
    __syncthreads();
  }
  wait_for_groups<0>();
  warp.store(batch, head);
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
