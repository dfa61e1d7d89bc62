// What a tensor's elements are never below, by the layers that make it.
#pragma once

#include "network/network.h"

namespace tenon {

/// The bound that holds whatever the network's inputs are, as 0 behind a ReLU or -0.375 behind a
/// hard swish; minus infinity where the layers say nothing.
double lower_bound_of(const Value& value);

}  // namespace tenon
