// What a step of each int8 tensor of a plugin is worth: PluginTensorDesc::scale.
#pragma once

#include "calibration/placement.h"
#include "network/network.h"

namespace tenon {

/// Gives plugin layers the scales of their int8 tensors: of the Quantize that makes an input or the
/// Dequantize that reads an output, if it has one scale for all of the tensor and no zero point;
/// else of the tensor's range. Without any it stays 1.
void set_plugin_scales(Network& network, const Scales& ranges);

}  // namespace tenon
