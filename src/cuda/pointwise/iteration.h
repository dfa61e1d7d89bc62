// How a loop over the elements of a result walks through its operands.
#pragma once

#include <span>
#include <vector>

#include "base/layout.h"

namespace tenon::cuda {

/// An operand as it is seen from the result: along each of the result's axes it has as many
/// elements, or one, or one for `block` of the result's.
struct OperandView {
  Shape shape;                      // of the result's rank
  Layout layout = Layout::kLinear;  // in which it lies in memory
  Shape block = {};                 // result elements for each of its own; empty: 1
};

/// Axes from the outermost in, and for each operand (the result is the first) the elements to skip
/// for a step along them.
struct Iteration {
  Shape extents;
  std::vector<Shape> strides;
  std::vector<int64_t> offsets;  // where each operand begins
};

/// The loop over all elements, in the order in which the result lies in memory, with as few axes
/// as possible; several where blocks do not divide an axis, none where there are no elements.
/// Throws when an operand does not broadcast to the result.
std::vector<Iteration> iterations(std::span<const OperandView> operands);

/// Two halves of an iteration of more than one element; the first has an even number of elements
/// if it has more than one.
std::vector<Iteration> halves(const Iteration& whole);

}  // namespace tenon::cuda
