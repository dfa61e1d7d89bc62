// For programs that run plugins without an engine: what plugins said through tenon/plugin_host.h.
#ifndef TENON_PLUGIN_RUNNER_H
#define TENON_PLUGIN_RUNNER_H

#include "tenon/plugin_host.h"

extern "C" {

/// The kernel that tenonSetCpuKernel() was given for an object (its IPluginV2* or IPluginV3*); null
/// when the object has none, and runs by enqueue() alone.
TENSORRTAPI TenonCpuKernel tenonCpuKernel(const void* plugin) noexcept;

/// Whether tenonSetCpuOnly() was called for the object.
TENSORRTAPI bool tenonIsCpuOnly(const void* plugin) noexcept;

/// Takes what tenonReportPluginError() kept on this thread, outside of an engine, since the last
/// call; "" if nothing was. The text lives until the next call on this thread.
TENSORRTAPI const char* tenonTakePluginError() noexcept;
}

#endif  // TENON_PLUGIN_RUNNER_H
