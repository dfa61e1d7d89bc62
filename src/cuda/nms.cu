#include "cuda/exclusive_scan.h"
#include "cuda/nms.h"
#include "cuda/order.cuh"
#include "tenon/kernels/box_tensor.h"

namespace tenon::cuda {
namespace {

using kernels::Box;
using kernels::BoxCoding;

constexpr int kWords = kThreads / 32;
constexpr uint32_t kNone = 0xffffffffu;  // the key of what is no candidate: after all others

template <class E> __global__ void make_keys(NmsLists l) {
  for_own(static_cast<uint64_t>(l.lists() * l.count), [&](uint64_t i) {
    const auto list = static_cast<int64_t>(i / static_cast<uint64_t>(l.count));
    const auto box = static_cast<int64_t>(i % static_cast<uint64_t>(l.count));
    const int64_t index = l.classes_first
                              ? static_cast<int64_t>(i)
                              : (list / l.classes * l.count + box) * l.classes + list % l.classes;
    const E score = static_cast<const E*>(l.scores)[index];
    const bool counts = static_cast<float>(score) > l.min_score;
    l.pairs.keys[i] = static_cast<uint64_t>(list) << 32 | (counts ? ~order_key(score) : kNone);
    l.pairs.values[i] = static_cast<uint32_t>(box);
  });
}

// What a block works with.
struct Tile {
  Box boxes[kThreads];
  uint32_t overlapped_by[kThreads][kWords];  // bits of earlier boxes of the tile
  uint32_t alive[kWords], kept[kWords];
  int64_t candidates;
};

// The best boxes of a list, in tiles: each is compared with all that are kept, then the boxes of a
// tile with each other, and one warp decides which stay.
template <class E> class Suppression {
 public:
  __device__ Suppression(const NmsLists& lists, int64_t list, Tile& tile)
      : l_(lists),
        tile_(tile),
        boxes_{static_cast<const E*>(lists.boxes), lists.count, lists.box_classes,
               lists.are_centers ? BoxCoding::kCenterSize : BoxCoding::kOppositeCorners},
        image_(list / lists.classes),
        kind_(list % lists.classes),
        keys_(lists.pairs.keys + list * lists.count),
        indices_(lists.pairs.values + list * lists.count) {}

  // Leaves what is kept at the front of the list; returns how many.
  __device__ int64_t run() {
    if (threadIdx.x == 0) tile_.candidates = count_candidates();
    __syncthreads();
    const int64_t considered = tile_.candidates < l_.considered ? tile_.candidates : l_.considered;
    int64_t found = 0;
    for (int64_t first = 0; first < considered && found < l_.max_boxes; first += kThreads) {
      const int64_t i = first + threadIdx.x;
      const uint32_t index = i < considered ? indices_[i] : 0;
      const Box box = i < considered ? boxes_(image_, index, kind_) : Box{};
      const bool is_dropped = overlaps_kept(box, found);  // all threads take part
      compare_tile(box, i < considered && !is_dropped);
      if (threadIdx.x < 32) decide(l_.max_boxes - found);
      __syncthreads();
      found = keep(index, found);
    }
    return found;
  }

 private:
  // The first key of none.
  __device__ int64_t count_candidates() const {
    int64_t low = 0, high = l_.count;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (static_cast<uint32_t>(keys_[middle]) == kNone)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  __device__ bool overlaps(const Box& kept, const Box& box) const {
    return kernels::overlap(kept, kept.area(), box, box.area(), l_.overlap);
  }

  __device__ bool overlaps_kept(const Box& box, int64_t found) {
    bool result = false;
    for (int64_t first = 0; first < found; first += kThreads) {
      __syncthreads();
      if (first + threadIdx.x < found)
        tile_.boxes[threadIdx.x] = boxes_(image_, indices_[first + threadIdx.x], kind_);
      __syncthreads();
      const int64_t count = found - first < kThreads ? found - first : kThreads;
      for (int k = 0; k < count && !result; ++k) result = overlaps(tile_.boxes[k], box);
    }
    return result;
  }

  __device__ void compare_tile(const Box& box, bool alive) {
    __syncthreads();
    tile_.boxes[threadIdx.x] = box;
    const unsigned votes = __ballot_sync(~0u, alive);
    if (threadIdx.x % 32 == 0) tile_.alive[threadIdx.x / 32] = votes;
    __syncthreads();
    for (int w = 0; w < kWords; ++w) {
      uint32_t bits = 0;
      for (int b = 0; alive && b < 32 && w * 32 + b < threadIdx.x; ++b)
        if (tile_.alive[w] >> b & 1 && overlaps(tile_.boxes[w * 32 + b], box)) bits |= 1u << b;
      tile_.overlapped_by[threadIdx.x][w] = bits;
    }
    __syncthreads();
  }

  // One warp: a lane for each word of the boxes that are kept.
  __device__ void decide(int64_t max_boxes) {
    const int lane = static_cast<int>(threadIdx.x);
    uint32_t kept = 0;
    for (int i = 0; i < kThreads && max_boxes > 0; ++i) {
      if ((tile_.alive[i / 32] >> i % 32 & 1) == 0) continue;
      const bool hit = lane < kWords && (tile_.overlapped_by[i][lane] & kept) != 0;
      if (__any_sync(~0u, hit)) continue;
      if (lane == i / 32) kept |= 1u << i % 32;
      --max_boxes;
    }
    if (lane < kWords) tile_.kept[lane] = kept;
  }

  // Those that are kept follow the ones before.
  __device__ int64_t keep(uint32_t index, int64_t found) {
    const int lane = static_cast<int>(threadIdx.x % 32), word = static_cast<int>(threadIdx.x / 32);
    int64_t own = found + __popc(tile_.kept[word] & ((1u << lane) - 1));
    for (int w = 0; w < kWords; ++w) {
      if (w < word) own += __popc(tile_.kept[w]);
      found += __popc(tile_.kept[w]);
    }
    if (tile_.kept[word] >> lane & 1) indices_[own] = index;
    __syncthreads();
    return found;
  }

  const NmsLists& l_;
  Tile& tile_;
  kernels::BoxTensor<E> boxes_;
  int64_t image_, kind_;
  const uint64_t* keys_;
  uint32_t* indices_;
};

template <class E> __global__ void suppress(NmsLists lists) {
  __shared__ Tile tile;
  for (int64_t list = blockIdx.x; list < lists.lists(); list += gridDim.x) {
    const int64_t found = Suppression<E>(lists, list, tile).run();
    if (threadIdx.x == 0) lists.begins[list] = found;
    __syncthreads();
  }
}

template <class Index> __global__ void write_rows(NmsLists l, Index* rows) {
  for (int64_t list = blockIdx.x; list < l.lists(); list += gridDim.x) {
    const int64_t begin = l.begins[list], count = l.begins[list + 1] - begin;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
      Index* row = rows + (begin + i) * 3;
      row[0] = static_cast<Index>(list / l.classes);
      row[1] = static_cast<Index>(list % l.classes);
      row[2] = static_cast<Index>(l.pairs.values[list * l.count + i]);
    }
  }
}

}  // namespace

void launch_nms(NmsLists& lists, void* scratch, size_t scratch_bytes, cudaStream_t stream) {
  const int64_t count = lists.lists() * lists.count;
  const int bits = 32 + std::bit_width(static_cast<uint64_t>(lists.lists() - 1));
  with_real(lists.type, [&](auto zero) {
    using E = decltype(zero);
    launch(make_keys<E>, blocks_for(count), kThreads, stream, lists);
    launch_sort(lists.pairs, count, bits, scratch, scratch_bytes, stream);
    launch(suppress<E>, blocks_for(lists.lists(), 1), kThreads, stream, lists);
  });
  launch_exclusive_scan(lists.begins, lists.lists(), stream);
}

void launch_nms_rows(const NmsLists& lists, void* rows, bool is_wide, cudaStream_t stream) {
  const unsigned blocks = blocks_for(lists.lists(), 1);
  if (is_wide)
    launch(write_rows<int64_t>, blocks, kThreads, stream, lists, static_cast<int64_t*>(rows));
  else
    launch(write_rows<int32_t>, blocks, kThreads, stream, lists, static_cast<int32_t*>(rows));
}

}  // namespace tenon::cuda
