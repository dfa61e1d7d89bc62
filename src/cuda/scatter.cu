#include <bit>

#include "cuda/grid.cuh"
#include "cuda/scatter.h"
#include "tenon/kernels/scatter.h"

namespace tenon::cuda {
namespace {

using kernels::Reduction;

__global__ void find_tuples(ScatterPositions p, ScatterTuples tuples) {
  for_own(static_cast<uint64_t>(p.count), [&](uint64_t i) {
    uint64_t to = 0;
    bool is_inside = true;
    for (int k = 0; k < tuples.width; ++k) {
      const int64_t index =
          integer_at(p.indices, p.is_wide, static_cast<int64_t>(i) * tuples.width + k);
      const int64_t at = wrapped_index(index, tuples.extents[k]);
      is_inside &= at >= 0;
      to = to * static_cast<uint64_t>(tuples.extents[k]) + static_cast<uint64_t>(at);
    }
    p.positions[i] = is_inside ? to : p.none;
  });
}

template <class Index> struct ElementAxes {
  Divisor<Index> extents[8];
  ScatterElements elements;
};

template <class Index> __global__ void find_elements(ScatterPositions p, ElementAxes<Index> axes) {
  const ScatterElements& e = axes.elements;
  for_own(static_cast<Index>(p.count), [&](Index i) {
    const int64_t position = wrapped_index(integer_at(p.indices, p.is_wide, i), e.extent);
    int64_t to = 0;
    Index rest = i;
    for (int axis = e.axes - 1; axis >= 0; --axis) {
      Index at = 0;
      rest = axes.extents[axis].divide(rest, at);
      to += (axis == e.axis ? position : static_cast<int64_t>(at)) * e.steps[axis];
    }
    p.positions[i] = position < 0 ? p.none : static_cast<uint64_t>(to);
  });
}

__global__ void clear_last(ScatterPositions p, uint32_t* last) {
  for_own(static_cast<uint64_t>(p.count), [&](uint64_t i) {
    if (p.positions[i] != p.none) last[p.positions[i]] = 0;
  });
}

__global__ void find_last(ScatterPositions p, uint32_t* last) {
  for_own(static_cast<uint64_t>(p.count), [&](uint64_t i) {
    if (p.positions[i] != p.none) atomicMax(&last[p.positions[i]], static_cast<uint32_t>(i));
  });
}

template <class Word, class Index>
__global__ void replace(ScatterPositions p, ScatteredBlocks blocks, Divisor<Index> words,
                        Index count) {
  for_own(count, [&](Index i) {
    Index word = 0;
    const Index update = words.divide(i, word);
    const uint64_t position = p.positions[update];
    if (position == p.none || blocks.last[position] != update) return;
    static_cast<Word*>(blocks.target)[position * static_cast<uint64_t>(blocks.words) + word] =
        static_cast<const Word*>(blocks.updates)[i];
  });
}

// Positions, and in them the order of the updates.
__global__ void number(uint64_t* keys, int64_t count) {
  for_own(static_cast<uint64_t>(count), [&](uint64_t i) { keys[i] = keys[i] << 32 | i; });
}

// The first update of a position brings all others that meet there.
template <Reduction reduction, class E>
__global__ void combine(CombinedBlocks blocks, const uint64_t* keys, uint64_t none, int64_t count) {
  const auto* updates = static_cast<const E*>(blocks.updates);
  const auto elements = static_cast<uint64_t>(blocks.elements);
  for_own(static_cast<uint64_t>(count) * elements, [&](uint64_t i) {
    const uint64_t first = i / elements, element = i % elements, position = keys[first] >> 32;
    if (position == none || (first > 0 && keys[first - 1] >> 32 == position)) return;
    E* const to = static_cast<E*>(blocks.target) + position * elements + element;
    E sum = *to;
    for (uint64_t k = first; k < static_cast<uint64_t>(count) && keys[k] >> 32 == position; ++k) {
      const uint64_t update = keys[k] & 0xffffffffu;
      sum = kernels::combined<reduction>(sum, updates[update * elements + element]);
    }
    *to = sum;
  });
}

}  // namespace

void launch_positions(const ScatterPositions& p, const ScatterTuples& tuples, cudaStream_t stream) {
  launch(find_tuples, blocks_for(p.count), kThreads, stream, p, tuples);
}

void launch_positions(const ScatterPositions& p, const ScatterElements& elements,
                      cudaStream_t stream) {
  with_index(p.count, [&](auto index) {
    using Index = decltype(index);
    ElementAxes<Index> axes{{}, elements};
    for (int axis = 0; axis < elements.axes; ++axis)
      axes.extents[axis] = Divisor<Index>(elements.extents[axis]);
    launch(find_elements<Index>, blocks_for(p.count), kThreads, stream, p, axes);
  });
}

void launch_replacements(const ScatterPositions& p, const ScatteredBlocks& blocks,
                         cudaStream_t stream) {
  launch(clear_last, blocks_for(p.count), kThreads, stream, p, blocks.last);
  launch(find_last, blocks_for(p.count), kThreads, stream, p, blocks.last);
  const int64_t count = p.count * blocks.words;
  with_word(blocks.word, [&](auto word) {
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(replace<decltype(word), Index>, blocks_for(count), kThreads, stream, p, blocks,
             Divisor<Index>(blocks.words), static_cast<Index>(count));
    });
  });
}

void launch_combination(const ScatterPositions& p, const CombinedBlocks& blocks, SortedPairs pairs,
                        void* scratch, size_t scratch_bytes, cudaStream_t stream) {
  launch(number, blocks_for(p.count), kThreads, stream, pairs.keys, p.count);
  launch_sort(pairs, p.count, 32 + std::bit_width(p.none), scratch, scratch_bytes, stream);
  kit::with_type(static_cast<kit::DataType>(blocks.type), [&](auto zero) {
    using E = decltype(zero);
    if constexpr (!std::is_same_v<E, bool>)
      kernels::with_reduction(static_cast<Reduction>(blocks.reduction), [&](auto reduction) {
        launch(combine<decltype(reduction)::value, E>, blocks_for(p.count * blocks.elements),
               kThreads, stream, blocks, static_cast<const uint64_t*>(pairs.keys), p.none, p.count);
      });
  });
}

}  // namespace tenon::cuda
