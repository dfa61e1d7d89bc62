// Orders of axes, as shuffles have them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "network/network.h"
#include "ops/shuffle.h"

namespace tenon {

using Permutation = std::vector<int32_t>;

/// `given` for all `rank` axes: those it leaves out stay.
inline Permutation full(const Permutation& given, size_t rank) {
  Permutation p(rank);
  std::iota(p.begin(), p.end(), 0);
  std::copy_n(given.begin(), std::min(given.size(), rank), p.begin());
  return p;
}

/// Transposing by `first` and then by `second`.
inline Permutation then(const Permutation& first, const Permutation& second) {
  Permutation p;
  for (int32_t axis : second) p.push_back(first[static_cast<size_t>(axis)]);
  return p;
}

inline bool is_identity(const Permutation& p) {
  return std::is_sorted(p.begin(), p.end());
}

/// A shuffle with full permutations; without a reshape all is in the first.
struct ShuffleOrder {
  Permutation first, second;
  bool reshapes = false;

  explicit ShuffleOrder(const Node& node) {
    const Shuffle& op = *node.as<Shuffle>();
    reshapes = op.has_reshape || (node.inputs.size() > 1 && node.inputs[1] != nullptr);
    first = full(op.first_transpose, node.inputs[0]->dims.size());
    second = full(op.second_transpose, node.outputs[0]->dims.size());
    if (reshapes) return;
    first = then(first, second);
    second = full({}, first.size());
  }
};

}  // namespace tenon
