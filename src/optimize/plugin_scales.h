// What a step of each int8 tensor of a plugin is worth: PluginTensorDesc::scale.
#pragma once

#include <string>
#include <unordered_map>

#include "network/network.h"

namespace tenon {

/// Gives plugin layers the scales of their int8 tensors: of the Quantize that makes an input or the
/// Dequantize that reads an output, if it has one scale for all of the tensor and no zero point;
/// else of the tensor's range, by its name. Without any it stays what it was, which is 1 at first.
void set_plugin_scales(Network& network, const std::unordered_map<std::string, float>& ranges = {});

}  // namespace tenon
