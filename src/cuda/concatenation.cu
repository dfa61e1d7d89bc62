#include <algorithm>

#include "cuda/concatenation.h"
#include "cuda/grid.cuh"

namespace tenon::cuda {
namespace {

template <class Index> struct Divisors {
  Divisor<Index> words[Concatenated::kMaxInputs];
};

// A row of blocks for each source.
template <class Word, class Index>
__global__ void concatenate_rows(Concatenated slices, Divisors<Index> divisors) {
  const int slice = blockIdx.y;
  const auto* source = static_cast<const Word*>(slices.source[slice]);
  Word* target = static_cast<Word*>(slices.target) + slices.offset[slice];
  const Divisor<Index> words = divisors.words[slice];
  for_own(static_cast<Index>(slices.rows * slices.words[slice]), [&](Index i) {
    Index at = 0;
    const Index row = words.divide(i, at);
    target[static_cast<int64_t>(row) * slices.row + at] = source[i];
  });
}

}  // namespace

void launch_concatenation(const Concatenated& slices, cudaStream_t stream) {
  int64_t max_words = 0;
  for (int i = 0; i < slices.count; ++i)
    max_words = std::max(max_words, slices.rows * slices.words[i]);
  if (max_words == 0) return;
  with_word(slices.word, [&](auto word) {
    with_index(max_words, [&](auto index) {
      using Index = decltype(index);
      Divisors<Index> divisors;
      for (int i = 0; i < slices.count; ++i)
        if (slices.words[i] > 0) divisors.words[i] = Divisor<Index>(slices.words[i]);
      launch(concatenate_rows<decltype(word), Index>,
             dim3(blocks_for(max_words), static_cast<unsigned>(slices.count)), kThreads, stream,
             slices, divisors);
    });
  });
}

}  // namespace tenon::cuda
