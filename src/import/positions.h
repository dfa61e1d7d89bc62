// Positions along axes as tensors, made when the network runs.
#pragma once

#include "import/layers.h"

namespace tenon {

/// 0, 1, … extent-1 (int64) along `axis` of a tensor of that rank; the other extents are 1.
Value& positions(Layers& layers, Dim extent, int axis, int rank);

/// int64, of the shape of a matrix: column minus row. Positive above the diagonal.
Value& diagonals(Layers& layers, Dim rows, Dim columns, int rank);

/// A tensor of integers with the positions that an index operand has: int32 and int64 stay.
Value& as_indices(Layers& layers, Value& x);

}  // namespace tenon
