// The types that the caller gave to inputs and outputs, where layers have these in others.
#pragma once

#include "calibration/placement.h"
#include "network/network.h"

namespace tenon {

/// Casts inputs to the types in which layers read them: they were made in these, whatever type the
/// border then got. Those that are int8, and which layers read as floats, are left.
void cast_inputs(Network& network);

/// Dequantizes inputs that are int8 and which layers read as floats, and quantizes outputs of which
/// the same holds, by their scales. Other types of outputs are cast, where these are bound.
/// @param scales gets those of the floats that outputs are quantized from.
/// Throws Error, naming the input or output, where it has no scale.
void quantize_borders(Network& network, Scales& scales);

}  // namespace tenon
