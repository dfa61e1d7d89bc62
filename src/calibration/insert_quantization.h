// Quantize and Dequantize layers where a placement wants them.
#pragma once

#include "calibration/placement.h"

namespace tenon {

/// Puts a Quantize and a Dequantize between each activation and the users that read it quantized,
/// and between weights and their layer, of which they get the scale max|w| / 127 for each channel.
/// Layers that are quantized lose the types that were set for them, which int8 follows.
/// @param placement made for this network, which has not changed since.
void insert_quantization(Network& network, const Placement& placement);

}  // namespace tenon
