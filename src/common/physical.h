// Tensors as they lie in memory: the axes of a layout from the outermost in.
#pragma once

#include "base/layout.h"

namespace tenon {

/// The extents in memory order. Blocked layouts split the channel axis, so that the rank grows by
/// one. Throws when the rank does not allow the layout.
Shape physical_extents(const Shape& shape, Layout layout);

/// Elements to skip in an operand for a step along each physical axis of the output, 0 where the
/// operand is broadcast. The operand has the output's rank, and lies in rows or in the output's
/// layout.
Shape physical_strides(const Shape& operand, Layout operand_layout, const Shape& output,
                       Layout layout);

}  // namespace tenon
