// Which nodes stay in float32 when a model becomes one of float16, and why.
#pragma once

#include <tenon/onnx.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "edit/store.h"
#include "edit/value_types.h"

namespace tenon::edit {

/// The largest finite number of float16.
constexpr float kLargestHalf = 65504;

struct HalfChoice {
  std::unordered_set<Id> kept;       // nodes that stay float32
  std::vector<std::string> reasons;  // of those that could have become float16
};
/// Kept are operators that have no form in float16, what `options` name, what has graphs inside
/// (the nodes in these choose for themselves), nodes with weights that float16 cannot hold, and
/// chains: squares and exponentials up to the root, logarithm or quotient that brings them back,
/// integers up to what must tell them apart, and masks up to their Softmax.
HalfChoice choose_half(Store& store, const ValueTypes& types, const HalfOptions& options);

}  // namespace tenon::edit
