// In which float type layers may compute, as the caller of a build sets it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace tenon {

struct Precision {
  /// The 16-bit type that layers may compute in, where the target is fast in it; nothing: float32
  /// stays.
  std::optional<DataType> reduced;
  /// What becomes of the types that were set for single layers (Node::precision, output_types).
  enum class Constraints : uint8_t {
    kHint,    // float32 is kept, and the 16-bit type where the layer may have it anyway
    kPrefer,  // followed; a warning where that cannot be or would spoil numbers
    kObey,    // followed whatever it does to numbers; an error where that cannot be
  } constraints = Constraints::kHint;
  /// Whether layers that choose `reduced` keep their tensors in float32: products are marked with
  /// the type (Node::precision), for kernels to round what they multiply, and no layer changes.
  bool only_products = false;

  bool changes_nothing() const { return !reduced && constraints == Constraints::kHint; }
};

}  // namespace tenon
