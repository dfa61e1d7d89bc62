// What plugin libraries look up in the process that opens them, as pointers.
#pragma once

#include <NvInferRuntime.h>
#include <tenon/plugin_host.h>

#include <type_traits>

namespace tenon::python {

struct Host {
  decltype(&getPluginRegistry) plugin_registry;
  decltype(&getLogger) logger;
  decltype(&tenonSetCpuKernel) set_cpu_kernel;
  decltype(&tenonSetCpuOnly) set_cpu_only;
  decltype(&tenonParallelFor) parallel_for;
  decltype(&tenonMultiply) multiply;
  decltype(&tenonDescribePlugin) describe_plugin;
  decltype(&tenonPluginText) plugin_text;
  decltype(&tenonReportPluginError) report_plugin_error;
};

}  // namespace tenon::python

extern "C" TENSORRTAPI void tenonSetHost(const tenon::python::Host& host) noexcept;
