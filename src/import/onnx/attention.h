// Attention as the operators of several domains state it.
#pragma once

#include "import/node.h"
#include "ops/attention.h"

namespace tenon {

/// (N, length, heads * size) as (N, heads, length, size).
Value& split_heads(NodeContext& n, Value& x, int64_t heads);
/// The other way round.
Value& join_heads(NodeContext& n, Value& x);
/// Two tensors, one behind the other along an axis.
Value& concatenate(NodeContext& n, Value& first, Value& second, int axis);
/// A slice of one axis: `size` elements from `start` on.
Value& part(NodeContext& n, Value& x, int axis, int64_t start, int64_t size);
/// The extent, which must be a constant.
int64_t constant_extent(const Value& x, int axis, const char* what);
/// 1 / sqrt(size of a head), or what the attribute "scale" says (0: the former).
float attention_scale(NodeContext& n, const Value& query);

/// Pairs of elements of (N, heads, length, size), rotated: cosine and sine are (N or 1, length,
/// rotated / 2). `rotated` of the elements take part, pairs are neighbours or half of that apart.
Value& rotate(NodeContext& n, Value& x, Value& cosine, Value& sine, int64_t rotated,
              bool interleaved);

}  // namespace tenon
