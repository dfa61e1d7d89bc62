// What each layer of a plan computes in, and why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::tool {

/// What a layer computes in ("int8", "bfloat16", "float32"), and a sentence that says how that is
/// known.
struct Precision {
  std::string type, why;
};

/// Whether layers of that kind multiply quantized tensors: integers, or fp8.
bool multiplies_quantized(std::string_view kind);

/// @param inputs, outputs types of the layer's tensors, constants among them.
/// @param is_quantized whether any layer of the plan multiplies quantized tensors.
Precision precision_of(const std::string& kind, const std::string& kernel,
                       const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs, bool is_quantized);

/// A line for each layer: its precision, and the reason as far as the plan records it, which is by
/// types of tensors and by kernels. Layers that only move elements are left out; how many layers
/// each precision has comes last. Why the builder chose is in what `tenon build --verbose` prints.
/// @param plan JSON of describe_plan().
std::string precision_report(std::string_view plan);

}  // namespace tenon::tool
