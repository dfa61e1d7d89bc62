// Integers that exist here only as wider ones: int16 and uint16 are int32, uint32 and uint64 int64.
// A value of such a type always holds what the type of the model can hold.
#pragma once

#include "import/node.h"

namespace tenon {

/// True for the four types.
bool is_stand_in(int32_t onnx_type);

/// x as one of the four types. `from` is the ONNX type that x stands in for, 0 for none. What does
/// not fit wraps, as two's complement does. Throws for uint64 unless each value of x's type fits.
Value& cast_to_stand_in(NodeContext& n, Value& x, int32_t from, int32_t to);

/// An input of the network as one of the four types: what does not fit wraps. Those of uint64 have
/// to fit int64.
Value& stand_in_from_outside(Layers& layers, Value& input, int32_t type);

/// Before a node is imported: throws, naming the type, when an input is of one of the four and the
/// operator would make something else of wider integers, which wrapping cannot mend.
void require_sound_stand_ins(NodeContext& n);
/// After it: results of arithmetic wrap, and the types of the outputs are noted.
void finish_stand_ins(NodeContext& n);

/// What a node that computes in float32 makes of float64 is float64 in the model.
void note_doubles(NodeContext& n);

/// The ONNX type that an attribute of the node names for its output; 0 for none.
int32_t type_in_attributes(const onnx::NodeProto& node);

}  // namespace tenon
