// --layerPrecisions and --layerOutputTypes: types of single layers from the command line.
#pragma once

#include <NvInfer.h>

#include "options.h"

namespace tenon::tool {

/// Gives layers the types that the options name. Throws Failure.
void set_layer_types(nvinfer1::INetworkDefinition& network, const BuildOptions& options);

}  // namespace tenon::tool
