// What a tensor of one element holds.
#pragma once

#include "base/tensor.h"
#include "base/tensor_memory.h"

namespace tenon {

/// Throws unless the tensor is one int32 or int64.
int64_t read_integer(const TensorView& view);

/// The first element of a tensor of bools in `memory`. Any byte but zero is true: what a caller's
/// memory holds need not be a bool of C++.
bool read_bool(TensorMemory& memory, const Tensor& tensor);

}  // namespace tenon
