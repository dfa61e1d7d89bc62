// The engine's side of include/tenon/plugin_host.h.
#pragma once

#include <tenon/plugin_host.h>

#include <string>

namespace tenon {

/// ": REASON" from what a plugin reported on this thread since the last call, or "".
std::string take_plugin_error();

}  // namespace tenon
