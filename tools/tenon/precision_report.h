// What each layer of a plan computes in, and why.
#pragma once

#include <string>
#include <string_view>

namespace tenon::tool {

/// A line for each layer: its precision, and the reason as far as the plan records it, which is by
/// types of tensors and by kernels. Layers that only move elements are left out; how many layers
/// each precision has comes last. Why the builder chose is in what `tenon build --verbose` prints.
/// @param plan JSON of describe_plan().
std::string precision_report(std::string_view plan);

}  // namespace tenon::tool
