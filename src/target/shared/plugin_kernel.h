// The kernel of plugin layers: it calls the plugin.
#pragma once

#include "target/target.h"

namespace tenon {

/// Takes every plugin layer whose plugin accepts the types in linear layout; refuses other layers.
/// The kernel keeps a copy of the layer.
Offer offer_plugin(const KernelRequest& request);

}  // namespace tenon
