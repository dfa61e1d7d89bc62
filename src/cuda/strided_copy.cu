#include "cuda/grid.cuh"
#include "cuda/strided_copy_launch.h"

namespace tenon::cuda {
namespace {

// The axes of a result, as kernels walk them.
template <class Index> struct Axes {
  int count;
  Divisor<Index> extent[kMaxAxes];
  int64_t stride[kMaxAxes];

  explicit Axes(const WordCopy& copy) : count(copy.axes) {
    for (int axis = 0; axis < count; ++axis) {
      extent[axis] = Divisor<Index>(copy.extents[axis]);
      stride[axis] = copy.strides[axis];
    }
  }
};

int64_t words_of(const WordCopy& copy) {
  int64_t words = 1;
  for (int axis = 0; axis < copy.axes; ++axis) words *= copy.extents[axis];
  return words;
}

template <class Word, class Index>
__global__ void copy_words(Axes<Index> axes, const char* source, Word* target, Index count) {
  for_own(count, [&](Index i) {
    Index rest = i;
    int64_t offset = 0;
    for (int axis = axes.count - 1; axis > 0; --axis) {
      Index at = 0;
      rest = axes.extent[axis].divide(rest, at);
      offset += static_cast<int64_t>(at) * axes.stride[axis];
    }
    offset += static_cast<int64_t>(rest) * axes.stride[0];
    target[i] = *reinterpret_cast<const Word*>(source + offset);
  });
}

// Rows lie side by side in the source, and columns in the result.
constexpr int kTile = 32;
struct Transposition {
  int64_t blocks, down, across;  // tiles altogether, along rows, along columns
  int64_t rows, columns;
  int64_t column_stride;  // bytes in the source
  int64_t row_stride;     // words in the result
  int outer;              // the other axes
  int64_t extents[kMaxAxes];
  int64_t from_strides[kMaxAxes];  // bytes
  int64_t to_strides[kMaxAxes];    // words
};

template <class Word>
__global__ void transpose_word_tiles(Transposition t, const char* source, Word* target) {
  __shared__ Word tile[kTile][kTile + 1];
  const int x = threadIdx.x % kTile;
  const int y = threadIdx.x / kTile;
  for (int64_t block = blockIdx.x; block < t.blocks; block += gridDim.x) {
    int64_t rest = block;
    const int64_t first_column = rest % t.across * kTile;
    rest /= t.across;
    const int64_t first_row = rest % t.down * kTile;
    rest /= t.down;
    const char* from = source;
    Word* to = target;
    for (int axis = t.outer - 1; axis >= 0; --axis) {
      const int64_t at = rest % t.extents[axis];
      rest /= t.extents[axis];
      from += at * t.from_strides[axis];
      to += at * t.to_strides[axis];
    }
    for (int k = y; k < kTile; k += kThreads / kTile)
      if (first_row + x < t.rows && first_column + k < t.columns)
        tile[k][x] = reinterpret_cast<const Word*>(
            from + (first_column + k) * t.column_stride)[first_row + x];
    __syncthreads();
    for (int k = y; k < kTile; k += kThreads / kTile)
      if (first_row + k < t.rows && first_column + x < t.columns)
        to[(first_row + k) * t.row_stride + first_column + x] = tile[x][k];
    __syncthreads();
  }
}

template <class Index> struct SampledAxes {
  Axes<Index> axes;
  SampledAxis sampled[kMaxAxes];
  Outside outside;

  // The position that sample i of an axis reads; -1 where it takes the fill value.
  __device__ int64_t position(int axis, int64_t i) const {
    const SampledAxis& s = sampled[axis];
    if (s.is_whole) return i;
    const int64_t at = s.start + i * s.step, extent = s.extent;
    if (at >= 0 && at < extent) return at;
    switch (outside) {
      case Outside::kClamp:
        return at < 0 ? 0 : extent - 1;
      case Outside::kWrap:
        return (at % extent + extent) % extent;
      case Outside::kReflect: {
        if (extent == 1) return 0;
        const int64_t period = 2 * (extent - 1), phase = (at % period + period) % period;
        return phase < extent ? phase : period - phase;
      }
      default:
        return -1;
    }
  }
};

template <class Word, class Index>
__global__ void copy_samples(SampledAxes<Index> s, const char* source, const Word* fill,
                             Word* target, Index count) {
  for_own(count, [&](Index i) {
    Index rest = i;
    int64_t offset = 0;
    bool is_outside = false;
    for (int axis = s.axes.count - 1; axis >= 0; --axis) {
      Index at = 0;
      rest = s.axes.extent[axis].divide(rest, at);
      const int64_t position = s.position(axis, static_cast<int64_t>(at));
      is_outside |= position < 0;
      offset += position * s.axes.stride[axis];
    }
    if (!is_outside)
      target[i] = *reinterpret_cast<const Word*>(source + offset);
    else
      target[i] = fill != nullptr ? *fill : Word{};
  });
}

}  // namespace

void launch_copy(const WordCopy& copy, cudaStream_t stream) {
  const int64_t count = words_of(copy);
  with_word(copy.word, [&](auto word) {
    with_index(count, [&](auto index) {
      using Word = decltype(word);
      using Index = decltype(index);
      launch(copy_words<Word, Index>, blocks_for(count), kThreads, stream, Axes<Index>(copy),
             static_cast<const char*>(copy.source), static_cast<Word*>(copy.target),
             static_cast<Index>(count));
    });
  });
}

void launch_transposition(const WordCopy& copy, int transposed, cudaStream_t stream) {
  const int last = copy.axes - 1;
  Transposition t = {};
  t.rows = copy.extents[transposed];
  t.columns = copy.extents[last];
  t.column_stride = copy.strides[last];
  t.down = (t.rows + kTile - 1) / kTile;
  t.across = (t.columns + kTile - 1) / kTile;
  t.blocks = t.down * t.across;
  for (int axis = 0; axis < last; ++axis) {
    int64_t dense = 1;
    for (int inner = axis + 1; inner <= last; ++inner) dense *= copy.extents[inner];
    if (axis == transposed) {
      t.row_stride = dense;
      continue;
    }
    t.extents[t.outer] = copy.extents[axis];
    t.from_strides[t.outer] = copy.strides[axis];
    t.to_strides[t.outer++] = dense;
    t.blocks *= copy.extents[axis];
  }
  with_word(copy.word, [&](auto word) {
    using Word = decltype(word);
    launch(transpose_word_tiles<Word>, blocks_for(t.blocks, 1), kThreads, stream, t,
           static_cast<const char*>(copy.source), static_cast<Word*>(copy.target));
  });
}

void launch_sampled_copy(const WordCopy& copy, const SampledAxis* axes, Outside outside,
                         const void* fill, cudaStream_t stream) {
  const int64_t count = words_of(copy);
  with_word(copy.word, [&](auto word) {
    with_index(count, [&](auto index) {
      using Word = decltype(word);
      using Index = decltype(index);
      SampledAxes<Index> sampled{Axes<Index>(copy), {}, outside};
      for (int axis = 0; axis < copy.axes; ++axis) sampled.sampled[axis] = axes[axis];
      launch(copy_samples<Word, Index>, blocks_for(count), kThreads, stream, sampled,
             static_cast<const char*>(copy.source), static_cast<const Word*>(fill),
             static_cast<Word*>(copy.target), static_cast<Index>(count));
    });
  });
}

}  // namespace tenon::cuda
