// Attention of 16-bit vectors by wgmma and TMA. Blocks are persistent and their warpgroups
// specialized: a thread of the first loads, the others each have 64 queries of an item.
#include <algorithm>

#include "cuda/asynchronous_copies.cuh"
#include "cuda/attention_softmax.cuh"
#include "cuda/capability.h"
#include "cuda/tma.h"
#include "cuda/warpgroup_products.cuh"

namespace tenon::cuda {
namespace {

constexpr int kKeys = 128;    // of a tile
constexpr int kGroups = 2;    // of warps that compute
constexpr int kOfGroup = 64;  // queries
constexpr int kQueries = kGroups * kOfGroup, kOfWarp = 16;
constexpr int kPart = 64;  // elements of a vector that lie in a row of 128 swizzled bytes

struct TmaDescriptors {
  CUtensorMap query, key, value, result;
};

// Vectors in parts of 128 bytes.
template <class T, int kSize, int kRows> struct Tile {
  static constexpr int kParts = kSize / kPart, kBytes = kRows * kSize * static_cast<int>(sizeof(T));
  T data[kParts][kRows * kPart];

  // One thread; what is behind the tensor's ends becomes zero.
  __device__ void load(const CUtensorMap& from, int row, int head, int batch, uint64_t* full) {
    expect(full, kBytes);
    for (int part = 0; part < kParts; ++part)
      copy_box(data[part], from, {part * kPart, row, head, batch}, full);
  }
};

template <class T, int kSize> struct Shared {
  static constexpr int kStages = kSize <= 64 ? 4 : 2;
  struct Stage {
    Tile<T, kSize, kKeys> key, value;
  };
  Tile<T, kSize, kQueries> query[2];
  Stage stages[kStages];
  Tile<T, kSize, kOfWarp> result[kGroups * 4];  // of each warp
  uint64_t full[kStages], empty[kStages], query_full[2], query_empty[2];
};

template <class T, int kSize> class Block {
  using Memory = Shared<T, kSize>;
  static constexpr int kStages = Memory::kStages, kParts = kSize / kPart;
  static constexpr int kWarps = kGroups * 4;

 public:
  __device__ Block(const AttentionParameters& p, const TmaDescriptors& descriptors, Memory& memory)
      : p_(p), descriptors_(descriptors), shared_(memory) {}

  // All threads of the block.
  __device__ void initialize_barriers() {
    if (threadIdx.x == 0) {
      const auto both = [](uint64_t& full, uint64_t& empty) {
        initialize(&full, 1);
        initialize(&empty, kWarps);
      };
      for (int i = 0; i < kStages; ++i) both(shared_.full[i], shared_.empty[i]);
      for (int i = 0; i < 2; ++i) both(shared_.query_full[i], shared_.query_empty[i]);
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
  }

  // One thread.
  __device__ void load() {
    for_each_item([&](const Item& item, const VisibleTogether& seen) {
      const int slot = query_.stage();
      wait(&shared_.query_empty[slot], query_.parity() ^ 1);
      shared_.query[slot].load(descriptors_.query, item.row, item.head, item.batch,
                               &shared_.query_full[slot]);
      arrive(&shared_.query_full[slot]);
      for (int start = seen.begin(kKeys); start < seen.end(); start += kKeys) {
        const int stage = stage_.stage();
        wait(&shared_.empty[stage], stage_.parity() ^ 1);
        uint64_t* full = &shared_.full[stage];
        const int head = item.head / p_.shared;
        shared_.stages[stage].key.load(descriptors_.key, start, head, item.batch, full);
        shared_.stages[stage].value.load(descriptors_.value, start, head, item.batch, full);
        arrive(full);
        stage_.advance();
      }
    });
  }

  // Each of the warpgroups that compute, which are counted from 0.
  __device__ __forceinline__ void attend(int group) {
    const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
    for_each_item([&](const Item& item, const VisibleTogether& seen) {
      const int slot = query_.stage(), first_row = item.row + group * kOfGroup;
      const bool has_rows = first_row < p_.queries;
      OnlineSoftmax<T, kSize, kKeys> softmax(p_, item.batch, item.head, first_row + warp * kOfWarp);
      wait(&shared_.query_full[slot], query_.parity());
      for (int start = seen.begin(kKeys); start < seen.end(); start += kKeys) {
        const int stage = stage_.stage();
        wait(&shared_.full[stage], stage_.parity());
        const bool all_seen = p_.mask == nullptr && seen.all(start, start + kKeys);
        if (has_rows)
          attend_tile(softmax, shared_.query[slot], group, shared_.stages[stage], start, all_seen);
        release(&shared_.empty[stage]);
        stage_.advance();
      }
      release(&shared_.query_empty[slot]);
      if (has_rows)
        store(softmax, item, first_row + warp * kOfWarp, shared_.result[group * 4 + warp]);
    });
    wait_for_stores();
  }

 private:
  // Queries of a head, as many as the block has at a time.
  struct Item {
    int batch, head, row;
  };
  template <class Body> __device__ __forceinline__ void for_each_item(const Body& body) {
    const auto tiles = static_cast<unsigned>((p_.queries + kQueries - 1) / kQueries);
    const auto heads = static_cast<unsigned>(p_.heads);
    const unsigned count = tiles * heads * static_cast<unsigned>(p_.batch);
    for (unsigned i = blockIdx.x; i < count; i += gridDim.x) {
      const unsigned head = i / tiles;
      const Item item{static_cast<int>(head / heads), static_cast<int>(head % heads),
                      static_cast<int>(i % tiles) * kQueries};
      body(item,
           VisibleTogether(p_, item.batch, item.row, min(item.row + kQueries, p_.queries) - 1));
      query_.advance();
    }
  }
  __device__ static void release(uint64_t* empty) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(empty);
  }

  __device__ __forceinline__ void attend_tile(OnlineSoftmax<T, kSize, kKeys>& softmax,
                                              const Tile<T, kSize, kQueries>& query, int group,
                                              const typename Memory::Stage& stage, int start,
                                              bool all_seen) const {
    typename OnlineSoftmax<T, kSize, kKeys>::Scores score;
    begin_products();
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const uint64_t a = describe(query.data[part] + group * kOfGroup * kPart, 128);
      const uint64_t b = describe(stage.key.data[part], 128);
#pragma unroll
      for (int k = 0; k < 4; ++k)  // 32 bytes of a row each
        multiply_add<T>(score, a + 2 * k, b + 2 * k, part > 0 || k > 0);
    }
    end_products();
    wait_for_products<0>();
    fence(score);
    softmax.take_shares(score, start, kKeys, all_seen);
    uint32_t shares[kKeys / 16][4];
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i) softmax.pack_shares(score, i, shares[i]);
    fence(softmax.result);
    begin_products();
    const uint64_t b = describe_columns(stage.value.data, kKeys * 128);
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i)  // 16 rows each
      multiply_add<T>(softmax.result, shares[i], b + i * (16 * 128 >> 4));
    end_products();
    wait_for_products<0>();
    fence(softmax.result);
  }

  using Result = Tile<T, kSize, kOfWarp>;
  __device__ static void fill(const OnlineSoftmax<T, kSize, kKeys>& softmax, const float (&by)[2],
                              Result& result) {
    const int own = softmax.lane() % 16, chunk = softmax.lane() / 16;
#pragma unroll
    for (int i = 0; i < kSize / 16; ++i) {
      const auto &low = softmax.result[2 * i], &high = softmax.result[2 * i + 1];
      const uint32_t m[4] = {
          pack<T>(low[0] * by[0], low[1] * by[0]), pack<T>(low[2] * by[1], low[3] * by[1]),
          pack<T>(high[0] * by[0], high[1] * by[0]), pack<T>(high[2] * by[1], high[3] * by[1])};
      const int at = (i % 4 * 2 + chunk) ^ own % 8;
      store_matrices(result.data[i / 4] + own * kPart + at * 8, m);
    }
  }
  // Rows of a part have 64 bytes, swizzled within those.
  template <class Rule>
  __device__ static void fill_with_bytes(const OnlineSoftmax<T, kSize, kKeys>& softmax,
                                         const float (&by)[2], const Rule& byte, Result& result) {
    const int lane = softmax.lane();
#pragma unroll
    for (int i = 0; i < kSize / 16; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int own = lane / 4 + 8 * half, chunk = i % 4 ^ (own >> 1 & 3);
        auto* at = reinterpret_cast<uint8_t*>(result.data[i / 4]) + own * kPart + chunk * 16
                   + lane % 4 * 2;
#pragma unroll
        for (int eight = 0; eight < 2; ++eight) {
          const auto& x = softmax.result[2 * i + eight];
          *reinterpret_cast<uint16_t*>(at + eight * 8) =
              bytes_of<T>(byte, x[2 * half] * by[half], x[2 * half + 1] * by[half]);
        }
      }
  }

  // One warp.
  __device__ void store(const OnlineSoftmax<T, kSize, kKeys>& softmax, const Item& item, int row,
                        Result& result) const {
    const int lane = softmax.lane();
    const float by[2] = {softmax.factor(0), softmax.factor(1)};
    if (lane == 0) wait_for_stores();
    __syncwarp();
    const Quantized quantized(p_.byte_rule);
    if (!p_.gives_bytes)
      fill(softmax, by, result);
    else if (p_.byte_rule.is_float8)
      fill_with_bytes(softmax, by, [&](float x) { return quantized.float8(x); }, result);
    else
      fill_with_bytes(softmax, by, [&](float x) { return quantized.integer(x); }, result);
    publish_to_copies();
    __syncwarp();
    if (lane != 0 || row >= p_.queries) return;
    for (int part = 0; part < kParts; ++part)
      store_box(descriptors_.result, {part * kPart, row, item.head, item.batch}, result.data[part]);
    end_stores();
  }

  const AttentionParameters& p_;
  const TmaDescriptors& descriptors_;
  Memory& shared_;
  StageCounter<kStages> stage_;
  StageCounter<2> query_;
};

template <class T, int kSize>
__global__ void __launch_bounds__((1 + kGroups) * kWarpgroup, 1)
    attend(const __grid_constant__ AttentionParameters p,
           const __grid_constant__ TmaDescriptors descriptors) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) uint8_t shared[];
  Block<T, kSize> block(p, descriptors, *reinterpret_cast<Shared<T, kSize>*>(shared));
  block.initialize_barriers();
  // The same in all lanes, as the compiler knows: wgmma must not stand where lanes may part.
  const int group = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 0) block.load();
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    block.attend(group - 1);
  }
#endif
}

template <class T>
bool describe_vectors(const AttentionParameters& p, const AttentionParameters::Vectors& v,
                      int64_t heads, int64_t rows, int64_t size, int box_rows,
                      CUtensorMap& description) {
  constexpr int64_t kBytes = sizeof(T);
  const auto type = std::is_same_v<T, uint8_t>  ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                    : std::is_same_v<T, __half> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  return describe_boxes(description, type, static_cast<const T*>(v.data) + v.offset,
                        {{size, kBytes, kPart},
                         {rows, v.row_step * kBytes, box_rows},
                         {heads, v.head_step * kBytes, 1},
                         {p.batch, v.batch_step * kBytes, 1}},
                        kPart * static_cast<int>(kBytes));
}
template <class T> bool describe_result(const AttentionParameters& p, CUtensorMap& description) {
  return describe_vectors<T>(p, p.result, p.heads, p.queries, p.width, kOfWarp, description);
}

// Keys that some query may see. Values behind them may be anything, and are not to be loaded, as a
// share of 0 does not make a number of NaN.
int64_t visible_keys(const AttentionParameters& p) {
  int64_t keys = p.keys;
  if (p.mask != nullptr) keys = std::min<int64_t>(keys, p.mask_keys);
  if (p.causal) keys = std::min<int64_t>(keys, p.queries);
  if (p.right_window >= 0) keys = std::min(keys, p.queries + p.right_window);
  return keys;
}

template <class T, int kSize> bool launch(const AttentionParameters& p, cudaStream_t stream) {
  const int64_t key_heads = p.heads / p.shared;
  TmaDescriptors descriptors;
  if (!describe_vectors<T>(p, p.query, p.heads, p.queries, p.size, kQueries, descriptors.query)
      || !describe_vectors<T>(p, p.key, key_heads, p.keys, p.size, kKeys, descriptors.key)
      || !describe_vectors<T>(p, p.value, key_heads, visible_keys(p), p.width, kKeys,
                              descriptors.value)
      || !(p.gives_bytes ? describe_result<uint8_t>(p, descriptors.result)
                         : describe_result<T>(p, descriptors.result)))
    return false;
  constexpr int kBytes = sizeof(Shared<T, kSize>);
  static_assert(kBytes <= 227 << 10);
  cudaFuncSetAttribute(attend<T, kSize>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const int64_t items = (p.queries + kQueries - 1) / kQueries * p.batch * p.heads;
  attend<T, kSize><<<static_cast<unsigned>(std::min<int64_t>(items, multiprocessors())),
                     (1 + kGroups) * kWarpgroup, kBytes, stream>>>(p, descriptors);
  return true;
}

template <class T> bool launch(const AttentionParameters& p, cudaStream_t stream) {
  return std::max(p.size, p.width) <= 64 ? launch<T, 64>(p, stream) : launch<T, 128>(p, stream);
}

}  // namespace

bool launch_warpgroup_attention(const AttentionParameters& p, cudaStream_t stream) {
  if (!tensor_cores_attend(p) || capability_major() != 9) return false;
  return p.type == DataType::kHALF ? launch<__half>(p, stream) : launch<__nv_bfloat16>(p, stream);
}

}  // namespace tenon::cuda
