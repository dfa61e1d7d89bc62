// Optimization profiles from the command line.
#pragma once

#include "model.h"

namespace tenon::tool {

/// Gives the model the profiles that the options ask for; without any, one for `inputs`. A model
/// whose inputs are all fixed needs none. Throws Failure.
void add_profiles(session::Model& model, const BuildOptions& options, const RunInputs& inputs,
                  Logger& logger);

/// "profile 1 of 2: x 1x3x8x8 to 1x3x64x64"; inputs whose shape is fixed are left out.
std::string profile_text(const nvinfer1::ICudaEngine& engine, int32_t profile);

}  // namespace tenon::tool
