// Layers that move elements and compute nothing.
#pragma once

#include "network/network.h"

namespace tenon {

/// How many of a layer's first inputs are data whose elements its only output holds as they were:
/// concatenations, slices that fill nothing in, maximum pooling, nearest-neighbour resizing,
/// reshapes and transpositions. 0 for other layers.
size_t moved_inputs(const Node& node);

}  // namespace tenon
