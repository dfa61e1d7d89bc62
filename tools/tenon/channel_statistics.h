// What the channels of a model's tensors are like, over many samples.
#pragma once

#include <tenon/quantize.h>

#include <cstddef>
#include <span>
#include <string>

#include "model.h"

namespace tenon::tool {

/// Of each channel, by the tensor's name.
struct ChannelStatistics {
  ChannelNumbersByName largest;  ///< magnitudes
  ChannelNumbersByName means;
};

/// Of all tensors that convolutions and products with constant weights read, as ChannelNumbers has
/// their channels. Runs the float model on samples like those of --calibData; memory does not grow
/// with their number. Throws Failure, also where a tensor holds NaN or infinity.
ChannelStatistics channel_statistics(std::span<const std::byte> model, const std::string& data,
                                     const BuildOptions& options, Logger& logger);

}  // namespace tenon::tool
