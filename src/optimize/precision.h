// In which float type each layer computes: what the caller set, and 16 bits where they are quicker.
#pragma once

#include <optional>

#include "base/log.h"
#include "network/network.h"

namespace tenon {

struct Precision {
  /// The 16-bit type that layers may compute in, where the target is quick in it; nothing: float32
  /// stays.
  std::optional<DataType> narrow;
  /// What becomes of the types that were set for single layers (Node::precision, output_types).
  enum class Constraints : uint8_t {
    kHint,    // float32 is kept, and the narrow type where the layer may have it anyway
    kPrefer,  // followed; a warning where that cannot be or would spoil numbers
    kObey,    // followed whatever it does to numbers; an error where that cannot be
  } constraints = Constraints::kHint;

  bool changes_nothing() const { return !narrow && constraints == Constraints::kHint; }
};

/// Gives layers of float32 the types that `precision` asks for, with casts between layers of
/// different types, and converts their weights. Inputs and outputs keep their types, but for
/// outputs that the caller gave the narrow one. Layers that 16 bits would spoil stay in float32,
/// and `log` is told why. What was set for layers is then done with, and forgotten. Bodies of loops
/// and conditionals are left as they are: they are networks of their own.
///
/// Throws, naming the layer, when kObey cannot be followed.
/// @pre shapes and types are known, and control flow is nested.
void apply_precision(Network& network, const Precision& precision, const Log& log);

}  // namespace tenon
