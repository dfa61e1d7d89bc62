// --layerPrecisions, --layerOutputTypes and --layerDeviceTypes: what single layers are given.
#pragma once

#include "model.h"

namespace tenon::tool {

/// Gives layers the types and devices that the options name. Throws Failure.
void set_layer_types(session::Model& model, const BuildOptions& options);

}  // namespace tenon::tool
