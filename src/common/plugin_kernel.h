// The kernel of plugin layers: it calls the plugin.
#pragma once

#include "backend/target.h"

namespace tenon {

/// Takes every plugin layer whose plugin accepts the types in some formats; refuses other layers.
/// The kernel keeps a copy of the layer. The plugin runs on the host.
Offer offer_plugin(const KernelRequest& request);
Offer load_plugin(const KernelRequest& request, const StoredKernel& stored);
/// The same; the plugin works in a device's memory. Refuses plugins that are for the host alone.
Offer offer_plugin_on_device(const KernelRequest& request);
Offer load_plugin_on_device(const KernelRequest& request, const StoredKernel& stored);
/// For targets that have a device: the plugin runs on the host, with copies, since it is for the
/// host alone. Refuses others.
Offer offer_plugin_beside(const Device& device, const KernelRequest& request);
Offer load_plugin_beside(const Device& device, const KernelRequest& request,
                         const StoredKernel& stored);

}  // namespace tenon
