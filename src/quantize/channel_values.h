// Numbers of tensors' channels.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tenon {

/// A number for each channel of tensors, by their names. The channels of what a convolution reads
/// are its axis 1, of what a product reads the last axis.
using ChannelValues = std::map<std::string, std::vector<float>>;

}  // namespace tenon
