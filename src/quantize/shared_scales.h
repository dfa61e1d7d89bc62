// One scale for tensors that layers only move from one to the other.
#pragma once

#include <map>
#include <string>

#include "network/network.h"

namespace tenon {

/// Gives tensors on both sides of Concat, Split, Slice, MaxPool, reshapes, transpositions and
/// nearest-neighbour Resize the same scale, the largest of theirs, so that bytes pass these layers
/// as they are, as TensorRT wants it of a Concat.
/// @param scales by the names of the network's tensors; others are not added
void share_scales(const Network& network, std::map<std::string, float>& scales);

}  // namespace tenon
