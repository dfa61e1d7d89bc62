/// Non-maximum suppression on CUDA. Few lists of many candidates are worked on by all of the GPU:
/// candidates are collected, each finds its position by counting the better ones, each row of a
/// matrix of bits says which later candidates one would suppress, and a block for each list walks
/// down the rows. Where the matrices would be too large, which is with many lists, each list is one
/// block's.
#pragma once

#if defined(__CUDACC__)

#include "tenon/kernels/kept_boxes.h"
#include "tenon/kernels/kept_lists.h"
#include "tenon/kernels/warp.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Scores of all classes of each box, as NmsShape says, in memory.
template <class E> struct ScoreTensor {
  const E* scores;

  /// Candidate `i` of a list; none if its score is not above the rule's.
  __device__ ScoreKey key(const NmsShape& shape, const NmsRule& rule, const KeptLists& lists,
                          int64_t list, int64_t i) const {
    const int64_t image = list / lists.lists_per_image();
    const int64_t box = rule.across_classes ? i / shape.classes : i;
    const int64_t kind = rule.across_classes ? i % shape.classes : list % shape.classes;
    const int64_t index = shape.classes_first ? (image * shape.classes + kind) * shape.boxes + box
                                              : (image * shape.boxes + box) * shape.classes + kind;
    const auto score = static_cast<float>(scores[index]);
    if (kind == rule.background || !(score > rule.score)) return ScoreKey::none();
    return ScoreKey::of(score, static_cast<uint32_t>(box * shape.classes + kind));
  }
};

/// What the kernels work on.
template <class Boxes, class Scores> struct NmsCall {
  NmsShape shape;
  NmsRule rule;
  KeptLists lists;
  Scores scores;
  Boxes boxes;

  __device__ auto box_of(int64_t list, ScoreKey key) const {
    return boxes(list / lists.lists_per_image(), lists.box_of(key), lists.class_of(key));
  }
  /// Of so many sorted candidates.
  __device__ int64_t considered(int64_t candidates) const {
    return candidates < rule.considered ? candidates : rule.considered;
  }
  __device__ int64_t max_boxes() const {
    return rule.max_boxes < lists.capacity() ? rule.max_boxes : lists.capacity();
  }
};

/// One list: a block sorts the candidates, and those of a tile that are kept suppress what comes
/// after it.
template <class Boxes, class Scores> struct SuppressList : NmsCall<Boxes, Scores> {
  __device__ void operator()(const kit::Team& team, int64_t list) const {
    const KeptLists& lists = this->lists;
    const NmsRule& rule = this->rule;
    ScoreKey* const keys = lists.keys(list);
    team.each(1, [&](int64_t) { lists.count(list) = 0; });
    __syncthreads();
    // In any order, as they are sorted; most of a detector's scores are below the threshold.
    auto* const count = reinterpret_cast<unsigned long long*>(&lists.count(list));
    team.each(lists.capacity(), [&](int64_t i) {
      const ScoreKey key = this->scores.key(this->shape, rule, lists, list, i);
      if (!key.is_none()) keys[atomicAdd(count, 1ull)] = key;
    });
    __syncthreads();
    const int64_t candidates = lists.count(list);
    sort_keys(team, keys, candidates);
    const int64_t considered = this->considered(candidates), max_boxes = this->max_boxes();
    if (rule.overlap == INFINITY) {  // all stay
      team.each(
          1, [&](int64_t) { lists.count(list) = considered < max_boxes ? considered : max_boxes; });
      return;
    }
    constexpr int kTile = 64;
    using Kept = decltype(this->box_of(0, ScoreKey{}));
    __shared__ alignas(16) char memory[kTile * sizeof(Kept)];
    __shared__ ScoreKey tile[kTile];
    __shared__ unsigned long long suppressed[kTile], kept;  // a bit for each of the tile
    Kept* const tile_boxes = reinterpret_cast<Kept*>(memory);
    int64_t found = 0;
    for (int64_t first = 0; first < considered && found < max_boxes; first += kTile) {
      const int size = considered - first < kTile ? static_cast<int>(considered - first) : kTile;
      __syncthreads();  // keys are as the tile before left them, and its boxes are read
      team.each(kTile, [&](int64_t i) {
        const ScoreKey key = i < size ? keys[first + i] : ScoreKey::none();
        tile[i] = key;
        suppressed[i] = 0;
        if (!key.is_none()) tile_boxes[i] = this->box_of(list, key);
      });
      __syncthreads();
      team.each(kTile * kTile, [&](int64_t pair) {
        const int i = static_cast<int>(pair) / kTile, k = static_cast<int>(pair) % kTile;
        if (k > i && !tile[i].is_none() && !tile[k].is_none()
            && suppresses(tile_boxes[i], tile_boxes[k], rule.overlap))
          atomicOr(suppressed + i, 1ull << k);
      });
      __syncthreads();
      team.each(1, [&](int64_t) {
        unsigned long long gone = 0, stays = 0;
        for (int i = 0; i < size && found + __popcll(stays) < max_boxes; ++i) {
          if (tile[i].is_none() || (gone >> i & 1) != 0) continue;
          stays |= 1ull << i;
          gone |= suppressed[i];
        }
        kept = stays;
      });
      __syncthreads();
      const unsigned long long stays = kept;
      // They go to positions that have been read.
      team.each(kTile, [&](int64_t i) {
        if ((stays >> i & 1) != 0) keys[found + __popcll(stays & ((1ull << i) - 1))] = tile[i];
      });
      found += __popcll(stays);
      if (found < max_boxes)
        team.each(considered - first - size, [&](int64_t j) {
          ScoreKey& other = keys[first + size + j];
          if (other.is_none()) return;
          const Kept box = this->box_of(list, other);
          for (unsigned long long rest = stays; rest != 0; rest &= rest - 1)
            if (suppresses(tile_boxes[__ffsll(static_cast<long long>(rest)) - 1], box,
                           rule.overlap)) {
              other = ScoreKey::none();
              return;
            }
        });
    }
    team.each(1, [&](int64_t) { lists.count(list) = found; });
  }
};

/// Workspace of the way that takes all of the GPU.
struct NmsMatrices {
  static constexpr int64_t kMaxBytes = int64_t{64} << 20;
  static constexpr int64_t kFewLists = 512;
  static constexpr int kTile = 64;  // candidates that a word has bits for

  int64_t rows = 0, words = 0;  // of a list's matrix; no rows where there is none
  ScoreKey* unsorted = nullptr;
  unsigned long long* bits = nullptr;

  NmsMatrices(const KeptLists& lists, const NmsRule& rule, Carver& carver) {
    const int64_t max_count =
        lists.capacity() < rule.considered ? lists.capacity() : rule.considered;
    words = (max_count + kTile - 1) / kTile;
    // Of one list there are up to 2^26 words, whose square holds with kFewLists in 63 bits.
    if (lists.lists() > kFewLists || lists.lists() * words * words > kMaxBytes / (kTile * 8))
      return;
    rows = words * kTile;
    unsorted = carver.array<ScoreKey>(lists.lists() * lists.capacity());
    if (rule.overlap != INFINITY)
      bits = carver.array<unsigned long long>(lists.lists() * rows * words);
  }
  __device__ unsigned long long& word(int64_t list, int64_t row, int64_t column) const {
    return bits[(list * rows + row) * words + column];
  }
};

/// Candidates, in any order. Of a warp's, which are of one list as a rule, one lane counts. All
/// lanes stay together: those without a candidate are mates of each other.
template <class Boxes, class Scores>
__global__ void collect_candidates(NmsCall<Boxes, Scores> call, NmsMatrices matrices) {
  const int64_t capacity = call.lists.capacity(), count = call.lists.lists() * capacity;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.x; first < count;
       first += int64_t{gridDim.x} * blockDim.x) {
    const int64_t at = first + threadIdx.x, list = at / capacity;
    const ScoreKey key =
        at < count ? call.scores.key(call.shape, call.rule, call.lists, list, at % capacity)
                   : ScoreKey::none();
    const unsigned mates =
        __match_any_sync(kAllLanes, key.is_none() ? ~0ull : static_cast<unsigned long long>(list));
    const int leader = __ffs(static_cast<int>(mates)) - 1;
    unsigned long long position = 0;
    if (lane == leader && !key.is_none())
      position = atomicAdd(reinterpret_cast<unsigned long long*>(&call.lists.count(list)),
                           static_cast<unsigned long long>(__popc(mates)));
    position = __shfl_sync(kAllLanes, position, leader)
               + static_cast<unsigned>(__popc(mates & ((1u << lane) - 1)));
    if (!key.is_none()) matrices.unsorted[list * capacity + static_cast<int64_t>(position)] = key;
  }
}

/// A candidate's position is the number of better ones: keys differ. Blocks share lists.
template <int kThreads> __global__ void rank_candidates(KeptLists lists, NmsMatrices matrices) {
  __shared__ ScoreKey tile[kThreads];
  for (int64_t list = blockIdx.y; list < lists.lists(); list += gridDim.y) {
    const int64_t count = lists.count(list);
    const ScoreKey* const keys = matrices.unsorted + list * lists.capacity();
    for (int64_t first = int64_t{blockIdx.x} * kThreads; first < count;
         first += int64_t{gridDim.x} * kThreads) {
      const int64_t i = first + threadIdx.x;
      const ScoreKey own = i < count ? keys[i] : ScoreKey::none();
      int64_t position = 0;
      for (int64_t begin = 0; begin < count; begin += kThreads) {
        __syncthreads();
        tile[threadIdx.x] =
            begin + threadIdx.x < count ? keys[begin + threadIdx.x] : ScoreKey::none();
        __syncthreads();
        int better = 0;
#pragma unroll 16
        for (int k = 0; k < kThreads; ++k) better += tile[k] < own;
        position += better;
      }
      if (i < count) lists.keys(list)[position] = own;
    }
  }
}

/// Tiles of the matrices on and above the diagonals. Blocks of a tile's candidates share them.
template <class Boxes, class Scores>
__global__ void fill_matrices(NmsCall<Boxes, Scores> call, NmsMatrices matrices) {
  constexpr int kTile = NmsMatrices::kTile;
  using Kept = decltype(call.box_of(0, ScoreKey{}));
  __shared__ alignas(16) char memory[kTile * sizeof(Kept)];
  Kept* const columns = reinterpret_cast<Kept*>(memory);
  for (int64_t list = blockIdx.y; list < call.lists.lists(); list += gridDim.y) {
    const int64_t count = call.considered(call.lists.count(list));
    const ScoreKey* const keys = call.lists.keys(list);
    const int64_t tiles = (count + kTile - 1) / kTile;
    for (int64_t tile = blockIdx.x; tile < tiles * tiles; tile += gridDim.x) {
      const int64_t row = tile / tiles * kTile + threadIdx.x, column = tile % tiles;
      if (column * kTile + kTile <= tile / tiles * kTile) continue;  // below the diagonal
      const int64_t here = column * kTile + threadIdx.x;
      __syncthreads();
      if (here < count) columns[threadIdx.x] = call.box_of(list, keys[here]);
      __syncthreads();
      if (row >= count) continue;
      const Kept own = call.box_of(list, keys[row]);
      unsigned long long bits = 0;
      for (int k = 0; k < kTile; ++k) {
        const int64_t other = column * kTile + k;
        if (other > row && other < count && suppresses(own, columns[k], call.rule.overlap))
          bits |= 1ull << k;
      }
      matrices.word(list, row, column) = bits;
    }
  }
}

/// A block for each list: keys that are kept go to the front.
template <class Boxes, class Scores>
__global__ void walk_matrices(NmsCall<Boxes, Scores> call, NmsMatrices matrices) {
  constexpr int kTile = NmsMatrices::kTile;
  extern __shared__ unsigned long long removed[];  // a bit for each candidate
  __shared__ unsigned long long kept;
  for (int64_t list = blockIdx.x; list < call.lists.lists(); list += gridDim.x) {
    const int64_t count = call.considered(call.lists.count(list)), max_boxes = call.max_boxes();
    const int64_t tiles = (count + kTile - 1) / kTile;
    ScoreKey* const keys = call.lists.keys(list);
    for (int64_t w = threadIdx.x; w < tiles; w += blockDim.x) removed[w] = 0;
    int64_t found = 0;
    for (int64_t tile = 0; tile < tiles && found < max_boxes; ++tile) {
      const int64_t first = tile * kTile;
      __syncthreads();
      if (threadIdx.x < kWarp) {
        const auto word = [&](int64_t row) {
          return row < count ? matrices.word(list, row, tile) : 0;
        };
        const unsigned long long low = word(first + threadIdx.x),
                                 high = word(first + kWarp + threadIdx.x);
        unsigned long long gone = removed[tile], stays = 0;
#pragma unroll
        for (int k = 0; k < kTile; ++k) {
          const unsigned long long suppressed =
              __shfl_sync(kAllLanes, k < kWarp ? low : high, k % kWarp);
          if ((gone >> k & 1) != 0 || first + k >= count || found + __popcll(stays) >= max_boxes)
            continue;
          stays |= 1ull << k;
          gone |= suppressed;
        }
        if (threadIdx.x == 0) kept = stays;
      }
      __syncthreads();
      const unsigned long long stays = kept;
      // Threads share the columns, and where these are fewer, their rows.
      const unsigned width = tiles < blockDim.x ? static_cast<unsigned>(tiles) : blockDim.x;
      const unsigned parts = blockDim.x / width, part = threadIdx.x / width;
      for (int64_t w = tile + 1 + threadIdx.x % width; w < tiles && part < parts; w += width) {
        unsigned long long gone = 0;
#pragma unroll 8
        for (unsigned k = part; k < kTile; k += parts)
          if ((stays >> k & 1) != 0) gone |= matrices.word(list, first + k, w);
        if (gone != 0) atomicOr(removed + w, gone);
      }
      // Each goes to a position before those that are read next.
      const ScoreKey key = threadIdx.x < kTile && first + threadIdx.x < count
                               ? keys[first + threadIdx.x]
                               : ScoreKey::none();
      __syncthreads();
      if (threadIdx.x < kTile && (stays >> threadIdx.x & 1) != 0)
        keys[found + __popcll(stays & ((1ull << threadIdx.x) - 1))] = key;
      found += __popcll(stays);
    }
    if (threadIdx.x == 0) call.lists.count(list) = found;
    __syncthreads();
  }
}

/// Without overlaps all stay, up to a number.
struct CountAll {
  KeptLists lists;
  int64_t max_count;

  __device__ void operator()(int64_t list) const {
    if (lists.count(list) > max_count) lists.count(list) = max_count;
  }
};

template <class Boxes> class Nms {
 public:
  Nms(const NmsShape& shape, const NmsRule& rule, Carver& carver)
      : shape_(shape), rule_(rule), lists_(shape, rule), matrices_(carved(carver)) {}

  template <class E>
  const KeptLists& run(const kit::Device& device, const E* scores, const Boxes& boxes) {
    return run_from(device, ScoreTensor<E>{scores}, boxes);
  }
  /// @param scores as ScoreTensor
  template <class Scores>
  const KeptLists& run_from(const kit::Device& device, const Scores& scores, const Boxes& boxes) {
    const NmsCall<Boxes, Scores> call{shape_, rule_, lists_, scores, boxes};
    if (lists_.lists() == 0 || lists_.capacity() == 0 || matrices_.rows == 0) {
      device.parallel_rows(lists_.lists(), SuppressList<Boxes, Scores>{call});
      return lists_;
    }
    cudaMemsetAsync(&lists_.count(0), 0, static_cast<size_t>(lists_.lists()) * sizeof(int64_t),
                    device.stream);
    const auto lists = static_cast<unsigned>(lists_.lists());
    const dim3 grid(kBlocks / lists, lists);
    const unsigned blocks = kit::Device::blocks((lists_.lists() * lists_.capacity() + 255) / 256);
    // clang-format off: it takes launches apart.
    collect_candidates<Boxes, Scores><<<blocks, 256, 0, device.stream>>>(call, matrices_);
    rank_candidates<256><<<grid, 256, 0, device.stream>>>(lists_, matrices_);
    // clang-format on
    if (rule_.overlap == INFINITY) {
      const int64_t max_count = std::min(rule_.considered, rule_.max_boxes);
      device.parallel_for(lists_.lists(), CountAll{lists_, max_count});
      return lists_;
    }
    // clang-format off
    fill_matrices<Boxes, Scores><<<grid, NmsMatrices::kTile, 0, device.stream>>>(call, matrices_);
    walk_matrices<Boxes, Scores>
        <<<lists, 1024, static_cast<size_t>(matrices_.words) * sizeof(int64_t), device.stream>>>(call, matrices_);
    // clang-format on
    return lists_;
  }

 private:
  static constexpr unsigned kBlocks = 2048;  // several for each multiprocessor

  NmsMatrices carved(Carver& carver) {
    lists_.carve(carver);
    return NmsMatrices(lists_, rule_, carver);
  }

  NmsShape shape_;
  NmsRule rule_;
  KeptLists lists_;
  NmsMatrices matrices_;
};

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
