// The layouts in which callers and plugins have tensors, and what kernels make of them.
#pragma once

#include "base/layout.h"
#include "network/network.h"

namespace tenon {

/// The layout of an input or output: linear where the caller allows it, else that of the first
/// format which its rank and type can have. Throws where none is left.
/// @param max_batch Plan::max_batch: where it is not 0, the first axis is the batch.
Layout io_layout(const Value& v, int32_t max_batch);

/// Whether channels fill all groups, whatever the shape is: nothing is padded.
bool fills_groups(const Value& v, Layout layout);

/// Where nothing is padded, a layout of inputs and outputs may be one that kernels know: that one,
/// else the layout itself.
Layout unpadded(const Value& v, Layout layout);

}  // namespace tenon
