#include "cuda/gather.h"
#include "cuda/grid.cuh"

namespace tenon::cuda {
namespace {

// What follows says from which block of the data block i of the target comes; -1 for none.
template <class Index> struct AlongAxis {
  Divisor<Index> picked, outer_per_batch;
  int64_t extent, count;

  explicit AlongAxis(const GatherAlongAxis& axis)
      : picked(axis.picked),
        outer_per_batch(axis.outer_per_batch),
        extent(axis.extent),
        count(axis.picked) {}
  __device__ int64_t source(const GatheredBlocks& blocks, Index i) const {
    Index at = 0, rest = 0;
    const Index outer = picked.divide(i, at);
    const Index batch = outer_per_batch.divide(outer, rest);
    const int64_t position =
        wrapped_index(integer_at(blocks.indices, blocks.is_wide, batch * count + at), extent);
    return position < 0 ? -1 : static_cast<int64_t>(outer) * extent + position;
  }
};

template <class Index> struct Tuples {
  Divisor<Index> tuples_per_batch;
  GatherTuples tuples;

  explicit Tuples(const GatherTuples& all) : tuples_per_batch(all.tuples_per_batch), tuples(all) {}
  __device__ int64_t source(const GatheredBlocks& blocks, Index i) const {
    Index rest = 0;
    int64_t from = tuples_per_batch.divide(i, rest);
    for (int k = 0; k < tuples.width; ++k) {
      const int64_t at = static_cast<int64_t>(i) * tuples.width + k;
      const int64_t position =
          wrapped_index(integer_at(blocks.indices, blocks.is_wide, at), tuples.extents[k]);
      if (position < 0) return -1;
      from = from * tuples.extents[k] + position;
    }
    return from;
  }
};

template <class Index> struct Elements {
  Divisor<Index> extents[8];
  GatherElements elements;

  explicit Elements(const GatherElements& all) : elements(all) {
    for (int axis = 0; axis < all.axes; ++axis) extents[axis] = Divisor<Index>(all.extents[axis]);
  }
  __device__ int64_t source(const GatheredBlocks& blocks, Index i) const {
    const int64_t position =
        wrapped_index(integer_at(blocks.indices, blocks.is_wide, i), elements.extent);
    if (position < 0) return -1;
    int64_t from = 0;
    for (int axis = elements.axes - 1; axis >= 0; --axis) {
      Index at = 0;
      i = extents[axis].divide(i, at);
      from += (axis == elements.axis ? position : static_cast<int64_t>(at)) * elements.steps[axis];
    }
    return from;
  }
};

template <class Word, class Index, class Source>
__global__ void gather_blocks(GatheredBlocks blocks, Divisor<Index> words, Source source,
                              Index count) {
  const auto* data = static_cast<const Word*>(blocks.data);
  auto* target = static_cast<Word*>(blocks.target);
  for_own(count, [&](Index i) {
    Index word = 0;
    const Index block = words.divide(i, word);
    const int64_t from = source.source(blocks, block);
    target[i] = from < 0 ? Word{} : data[from * blocks.words + word];
  });
}

template <template <class> class Source, class Parameters>
void launch_with(const GatheredBlocks& blocks, const Parameters& parameters, cudaStream_t stream) {
  const int64_t count = blocks.blocks * blocks.words;
  if (count == 0) return;
  with_word(blocks.word, [&](auto word) {
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(gather_blocks<decltype(word), Index, Source<Index>>, blocks_for(count), kThreads,
             stream, blocks, Divisor<Index>(blocks.words), Source<Index>(parameters),
             static_cast<Index>(count));
    });
  });
}

}  // namespace

void launch_gather(const GatheredBlocks& blocks, const GatherAlongAxis& axis, cudaStream_t stream) {
  launch_with<AlongAxis>(blocks, axis, stream);
}

void launch_gather(const GatheredBlocks& blocks, const GatherTuples& tuples, cudaStream_t stream) {
  launch_with<Tuples>(blocks, tuples, stream);
}

void launch_gather(const GatheredBlocks& blocks, const GatherElements& elements,
                   cudaStream_t stream) {
  launch_with<Elements>(blocks, elements, stream);
}

}  // namespace tenon::cuda
