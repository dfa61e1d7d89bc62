// What a concatenation copies: from each input a run of bytes into every row of the output.
#pragma once

#include <vector>

#include "target/target.h"

namespace tenon {

/// Rows of `row` bytes, and the bytes of each input in them, one behind the other.
struct ConcatenationPieces {
  int64_t rows = 0, row = 0;
  struct Piece {
    int64_t bytes, offset;
  };
  std::vector<Piece> pieces;

  /// Whether an input lies in the output already (plan/parts.h).
  bool is_in_place(size_t input, const RunArguments& arguments) const;
  bool are_in_place(const RunArguments& arguments) const;
};

/// For inputs in the output's layout. Throws when they do not add up to the output.
ConcatenationPieces pieces_of(int axis, std::span<const TensorSpec> inputs,
                              const TensorSpec& output);

/// Of the layouts that `allows` takes, the one in which most of the elements arrive: it needs the
/// fewest reorders.
template <class Allows> Layout most_common_layout(const KernelRequest& request, Allows allows) {
  Layout best = Layout::kLinear;
  int64_t most = -1;
  for (const TensorSpec& candidate : request.inputs) {
    int64_t elements = 0;
    for (const TensorSpec& in : request.inputs)
      if (in.layout == candidate.layout) elements += in.shape.volume();
    if (elements <= most || !allows(candidate.layout)) continue;
    most = elements;
    best = candidate.layout;
  }
  return best;
}

}  // namespace tenon
