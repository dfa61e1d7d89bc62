// How much arithmetic a layer is by its definition, whatever a kernel makes of it.
#pragma once

#include <span>

#include "network/op.h"

namespace tenon {

/// Operations of the layer at these shapes, those of inputs left out being empty. A multiplication,
/// an addition, a comparison and a function's value count one each, so a multiply-add two; a
/// bias counts nothing. Products, pooling, sums, softmax, normalisation and element-wise layers
/// count, with their epilogues; all other kinds, which mostly move data, count 0.
double operations_of(const Op& op, std::span<const Shape> inputs, std::span<const Shape> outputs);

}  // namespace tenon
