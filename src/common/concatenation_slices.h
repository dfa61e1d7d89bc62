// What a concatenation copies: from each input a run of bytes into every row of the output.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/target.h"

namespace tenon {

/// Rows of `row` bytes, and the bytes of each input in them, one behind the other.
struct ConcatenationSlices {
  int64_t rows = 0, row = 0;
  struct Slice {
    int64_t bytes, offset;
  };
  std::vector<Slice> slices;

  /// Whether an input lies in the output already (plan/in_place_slices.h).
  bool is_in_place(size_t input, const RunArguments& arguments) const;
  bool are_in_place(const RunArguments& arguments) const;
};

/// For inputs in the output's layout. Throws when they do not add up to the output.
ConcatenationSlices slices_of(int axis, std::span<const TensorSpec> inputs,
                              const TensorSpec& output);

/// Of the layouts that `allows` takes, the one in which most of the elements arrive: it needs the
/// fewest reorders.
template <class Allows> Layout most_common_layout(const KernelRequest& request, Allows allows) {
  std::vector<std::pair<Layout, int64_t>> elements;  // few, in the order in which they come
  for (const TensorSpec& in : request.inputs) {
    auto it = std::find_if(elements.begin(), elements.end(),
                           [&](const auto& known) { return known.first == in.layout; });
    if (it == elements.end()) it = elements.insert(it, {in.layout, 0});
    it->second += in.shape.volume();
  }
  Layout best = Layout::kLinear;
  int64_t max_count = -1;
  for (const auto& [layout, count] : elements) {
    if (count <= max_count || !allows(layout)) continue;
    max_count = count;
    best = layout;
  }
  return best;
}

}  // namespace tenon
