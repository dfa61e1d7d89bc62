// Sequences of tensors, and optionals. They exist only while a model is imported: TensorRT has
// none.
#pragma once

#include <vector>

#include "base/variant.h"
#include "import/layers.h"

namespace tenon {

/// Neighbouring elements of a sequence: one tensor; several stacked along a first axis, which may
/// be known only at run time; or (null) those that earlier iterations of the loop around appended.
struct SequencePart {
  Value* tensor = nullptr;
  bool stacked = false;
  int state = -1;  // with a null tensor: of that state of the loop
  friend bool operator==(const SequencePart&, const SequencePart&) = default;
};
using Sequence = std::vector<SequencePart>;

/// An optional that holds nothing. One that holds something is what it holds.
struct EmptyOptional {
  friend bool operator==(EmptyOptional, EmptyOptional) = default;
};

/// What a name in a model stands for. A null tensor: an input left out, or one that could not be
/// imported.
using Item = Variant<Value*, Sequence, EmptyOptional>;

inline const Sequence* as_sequence(const Item& item) {
  return std::get_if<Sequence>(&item);
}
inline bool is_empty_optional(const Item& item) {
  return std::holds_alternative<EmptyOptional>(item);
}
inline bool is_null(const Item& item) {
  const auto* tensor = std::get_if<Value*>(&item);
  return tensor != nullptr && *tensor == nullptr;
}
/// The tensor, or those of a sequence, nulls among them; none of an empty optional.
std::vector<Value*> tensors_in(const Item& item);
/// Throws for a sequence and for an empty optional; `what` names the item.
Value* as_tensor(const Item& item, const std::string& what);

/// True when each part is one tensor.
bool has_known_length(const Sequence& sequence);
/// Throws when the sequence holds what earlier iterations appended.
void require_readable(const Sequence& sequence);
/// The number of elements; extents of stacked parts become known to `layers`.
Dim length_of(Layers& layers, const Sequence& sequence);
/// All elements along a new axis. Throws for an empty sequence.
Value& stack(Layers& layers, const Sequence& sequence, int axis);
/// All elements one behind the other along an axis. Throws for an empty sequence.
Value& concatenate(Layers& layers, const Sequence& sequence, int axis);
/// Two neighbouring axes, from this one on, as one.
Value& merge_axes(Layers& layers, Value& x, int axis);
/// The dimensions of one element.
Dims element_dims(const SequencePart& part);

}  // namespace tenon
