// The host as a device.
#pragma once

#include "backend/device.h"

namespace tenon {

/// The host's own memory; lives as long as the process. Streams matter to plugins and callers.
const Device& host_device();

}  // namespace tenon
