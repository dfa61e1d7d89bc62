// What the command line says of a build, set on a builder's configuration.
#pragma once

#include <NvInfer.h>

#include "options.h"

namespace tenon::tool {

/// All but what needs the network: types, formats, profiles. Throws Failure.
void set_builder(nvinfer1::IBuilderConfig& config, const BuildOptions& options, Logger& logger);

/// Whether the options build for a GPU. Throws Failure.
bool builds_for_gpu(const BuildOptions& options, Logger& logger);

}  // namespace tenon::tool
