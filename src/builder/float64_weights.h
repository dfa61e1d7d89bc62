// Which weights are float64: tensors of int64 that hold its bits (ops/float64_cast.h).
#pragma once

#include <unordered_set>

#include "network/network.h"

namespace tenon {

/// Those of the network and of its bodies that layers of float64 read, also where other layers have
/// moved their elements before.
std::unordered_set<const Value*> float64_weights(const Network& network);

}  // namespace tenon
