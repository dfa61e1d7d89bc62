// Why a tensor is off, as far as its numbers tell.
#ifndef TENON_COMPARE_CAUSE_H
#define TENON_COMPARE_CAUSE_H

#include <tenon/session/array.h>

#include <string>

#include "compare/tensor_error.h"

namespace tenon::compare {

/// A sentence; empty where the error is no more than what rounding the results to their type makes.
/// @param own the error of `found` against `expected`, which the other build computes of the same
/// inputs.
std::string cause_of(const session::Array& found, const session::Array& expected,
                     const TensorError& own);

}  // namespace tenon::compare

#endif  // TENON_COMPARE_CAUSE_H
