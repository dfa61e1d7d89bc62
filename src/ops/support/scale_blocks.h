// Which elements of a tensor share a scale: what quantisation and its inverse have in common.
#pragma once

#include <functional>
#include <vector>

#include "base/parallel.h"
#include "network/op.h"

namespace tenon {

/// How scales are laid over data. One scale; or one per position along `axis`; or a tensor of the
/// data's rank, each element of which holds for a block. `block` gives the blocks' extents (-1: all
/// of an axis); without it they follow from the extents, rounded up.
struct ScaleLayout {
  int32_t axis = -1;
  Shape block;

  void visit(FieldVisitor& v);
};

/// The extents of the block of data that shares a scale, one per axis. Throws when scales of that
/// shape do not fit the data.
Shape block_extents(const ScaleLayout& layout, const Shape& data, const Shape& scale);

/// Throws unless the scale (input 1) and the zero point (input 2, if there) fit the data.
void check_scales(const Inference& c, const ScaleLayout& layout);

/// The layout for concrete extents: `outer` rows of `extent` positions of `inner` elements each;
/// `block` positions of a row share a scale.
struct ScaleBlocks {
  int64_t outer = 1, extent = 1, block = 1, inner = 1;
  std::vector<int64_t> first;  // scale of each row's first block; the next ones follow it

  int64_t blocks() const { return (extent + block - 1) / block; }
};
ScaleBlocks scale_blocks(const ScaleLayout& layout, const Shape& data, const Shape& scale);

/// Calls body(begin, count, scale, step) for runs that cover all elements, in parallel: element
/// begin + i has scale `scale + i * step`; step is 0 or 1.
template <class Body> void for_scaled_runs(const ScaleBlocks& s, const Body& body) {
  constexpr int64_t kElementsPerTask = 16384;
  if (s.extent == 0 || s.inner == 0 || s.outer == 0) return;
  if (s.outer == 1 && s.blocks() == 1) {
    parallel_for(s.extent * s.inner, kElementsPerTask,
                 [&](int64_t b, int64_t e) { body(b, e - b, s.first[0], 0); });
    return;
  }
  if (s.inner == 1 && s.block == 1) {
    parallel_for(s.outer, std::max<int64_t>(1, kElementsPerTask / s.extent),
                 [&](int64_t b, int64_t e) {
                   for (int64_t row = b; row < e; ++row)
                     body(row * s.extent, s.extent, s.first[static_cast<size_t>(row)], 1);
                 });
    return;
  }
  const int64_t blocks = s.blocks(), run = s.block * s.inner, row_elements = s.extent * s.inner;
  parallel_for(s.outer * blocks, std::max<int64_t>(1, kElementsPerTask / run),
               [&](int64_t b, int64_t e) {
                 for (int64_t i = b; i < e; ++i) {
                   const int64_t row = i / blocks, k = i % blocks;
                   body(row * row_elements + k * run, std::min(run, row_elements - k * run),
                        s.first[static_cast<size_t>(row)] + k, 0);
                 }
               });
}

}  // namespace tenon
