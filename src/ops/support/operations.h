// What Op::operations() of several kinds count with.
#pragma once

#include "base/shape.h"
#include "ops/support/pointwise_program.h"

namespace tenon {

constexpr double kMultiplyAdd = 2;

inline double count_of(const Shape& shape) {
  return static_cast<double>(shape.volume());
}

/// Of an epilogue, or of another program whose result has that shape.
inline double operations_of(const PointwiseProgram& program, const Shape& result) {
  return static_cast<double>(program.steps.size()) * count_of(result);
}

}  // namespace tenon
