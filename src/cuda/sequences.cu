#include "cuda/element_types.cuh"
#include "cuda/elements.cuh"
#include "cuda/sequences.h"

namespace tenon::cuda {
namespace {

// The widest word of which blocks consist.
int64_t word_of(const void* source, const void* target, int64_t bytes) {
  const uint64_t all = uint64_t{16} | reinterpret_cast<uint64_t>(source)
                       | reinterpret_cast<uint64_t>(target) | static_cast<uint64_t>(bytes);
  return static_cast<int64_t>(all & (~all + 1));
}

template <class Word, class Index>
__global__ void reverse(ReversedSequences s, int64_t words, Index count) {
  const auto* source = static_cast<const Word*>(s.source);
  for_own(count, [&](Index i) {
    const int64_t block = i / words, word = i % words;
    const int64_t time = block / s.time_step % s.times, batch = block / s.batch_step % s.batches;
    int64_t length = integer_at(s.lengths.data, s.lengths.is_wide, batch);
    length = length < s.times ? length : s.times;
    const int64_t from = time < length ? length - 1 - time : time;
    static_cast<Word*>(s.target)[i] = source[(block + (from - time) * s.time_step) * words + word];
  });
}

template <class Word, class Index>
__global__ void update_cache(CachedRows c, int64_t words, Index count) {
  for_own(count, [&](Index i) {
    const int64_t block = i / words, word = i % words;
    const int64_t row = block / c.added, at = block % c.added;
    int64_t position =
        c.positions.data == nullptr
            ? 0
            : integer_at(c.positions.data, c.positions.is_wide, row / c.rows_per_batch);
    if (position < 0) return;
    position += at;
    if (c.circular) position %= c.length;
    if (position >= c.length) return;
    static_cast<Word*>(c.target)[(row * c.length + position) * words + word] =
        static_cast<const Word*>(c.source)[i];
  });
}

template <class E, class Index> __global__ void rotate(RotatedPairs p, Index count) {
  const auto* source = static_cast<const E*>(p.source);
  auto* target = static_cast<E*>(p.target);
  // A thread for each pair, and each element that is left.
  const int64_t per_row = p.size - p.pairs;
  for_own(count, [&](Index i) {
    const int64_t row = i / per_row, k = i % per_row;
    const int64_t batch = row / (p.heads * p.length), position = row % p.length;
    const int64_t angle =
        p.positions.data == nullptr
            ? batch * p.batch_step + position
            : integer_at(p.positions.data, p.positions.is_wide, batch * p.length + position);
    const E* x = source + row * p.size;
    E* y = target + row * p.size;
    if (k >= p.pairs) {
      y[k + p.pairs] = x[k + p.pairs];
      return;
    }
    const int64_t first = p.interleaved ? 2 * k : k,
                  second = p.interleaved ? first + 1 : k + p.pairs;
    const E a = x[first], b = x[second];
    y[first] = a;
    y[second] = b;
    if (angle < 0 || angle >= p.table_rows) return;
    const float cosine = to_float(static_cast<const E*>(p.cosines)[angle * p.pairs + k]);
    const float sine = to_float(static_cast<const E*>(p.sines)[angle * p.pairs + k]);
    y[first] = from_float<E>(to_float(a) * cosine - to_float(b) * sine);
    y[second] = from_float<E>(to_float(a) * sine + to_float(b) * cosine);
  });
}

}  // namespace

void launch_reverse(const ReversedSequences& s, cudaStream_t stream) {
  const int64_t bytes = word_of(s.source, s.target, s.bytes), words = s.bytes / bytes;
  with_word(bytes, [&](auto word) {
    with_index(s.blocks * words, [&](auto index) {
      using Index = decltype(index);
      launch(reverse<decltype(word), Index>, blocks_for(s.blocks * words), kThreads, stream, s,
             words, static_cast<Index>(s.blocks * words));
    });
  });
}

void launch_cache_update(const CachedRows& c, cudaStream_t stream) {
  const int64_t bytes = word_of(c.source, c.target, c.bytes), words = c.bytes / bytes;
  const int64_t count = c.rows * c.added * words;
  with_word(bytes, [&](auto word) {
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(update_cache<decltype(word), Index>, blocks_for(count), kThreads, stream, c, words,
             static_cast<Index>(count));
    });
  });
}

void launch_rotation(const RotatedPairs& p, cudaStream_t stream) {
  const int64_t count = p.batches * p.heads * p.length * (p.size - p.pairs);
  with_real(p.type, [&](auto zero) {
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(rotate<decltype(zero), Index>, blocks_for(count), kThreads, stream, p,
             static_cast<Index>(count));
    });
  });
}

}  // namespace tenon::cuda
