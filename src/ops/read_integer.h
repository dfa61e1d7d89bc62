// The number that a tensor of one integer holds.
#pragma once

#include "base/tensor.h"

namespace tenon {

/// Throws unless the tensor is one int32 or int64.
int64_t read_integer(const TensorView& view);

}  // namespace tenon
