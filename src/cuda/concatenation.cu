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
__global__ void concatenate_rows(Concatenated pieces, Divisors<Index> divisors) {
  const int piece = blockIdx.y;
  const auto* source = static_cast<const Word*>(pieces.source[piece]);
  Word* target = static_cast<Word*>(pieces.target) + pieces.offset[piece];
  const Divisor<Index> words = divisors.words[piece];
  for_own(static_cast<Index>(pieces.rows * pieces.words[piece]), [&](Index i) {
    Index at = 0;
    const Index row = words.divide(i, at);
    target[static_cast<int64_t>(row) * pieces.row + at] = source[i];
  });
}

}  // namespace

void launch_concatenation(const Concatenated& pieces, cudaStream_t stream) {
  int64_t max_words = 0;
  for (int i = 0; i < pieces.count; ++i)
    max_words = std::max(max_words, pieces.rows * pieces.words[i]);
  if (max_words == 0) return;
  with_word(pieces.word, [&](auto word) {
    with_index(max_words, [&](auto index) {
      using Index = decltype(index);
      Divisors<Index> divisors;
      for (int i = 0; i < pieces.count; ++i)
        if (pieces.words[i] > 0) divisors.words[i] = Divisor<Index>(pieces.words[i]);
      launch(concatenate_rows<decltype(word), Index>,
             dim3(blocks_for(max_words), static_cast<unsigned>(pieces.count)), kThreads, stream,
             pieces, divisors);
    });
  });
}

}  // namespace tenon::cuda
