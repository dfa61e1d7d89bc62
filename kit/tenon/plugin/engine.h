/// The engine that the plugin library is loaded into.
#pragma once

#include <dlfcn.h>
#include <tenon/plugin_host.h>

extern "C" __attribute__((weak)) nvinfer1::ILogger* getLogger() noexcept;
extern "C" __attribute__((weak)) nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;

namespace tenon {
namespace kit {

/// Functions of the engine. Those that it does not have are null, all of them without an engine.
struct Engine {
  decltype(&::getPluginRegistry) plugin_registry;
  decltype(&::getLogger) logger;
  decltype(&::tenonSetCpuKernel) set_cpu_kernel;
  decltype(&::tenonSetCpuOnly) set_cpu_only;
  decltype(&::tenonParallelFor) parallel_for;
  decltype(&::tenonMultiply) multiply;
  decltype(&::tenonDescribePlugin) describe_plugin;
  decltype(&::tenonReportPluginError) report_plugin_error;
};

/// `linked`, or, where the program opened the engine with RTLD_LOCAL, so that the dynamic linker
/// does not find it, the function in the engine's library.
template <class F> F* engine_function(F* linked, const char* name) noexcept {
  for (const char* library : {"libnvinfer.so.10", "libtenon.so.0"}) {
    if (linked != nullptr) break;
    void* const opened = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (opened == nullptr) continue;
    linked = reinterpret_cast<F*>(dlsym(opened, name));
    if (linked == nullptr) dlclose(opened);  // else it stays for as long as the plugins
  }
  return linked;
}

inline Engine find_engine() noexcept {
  return {engine_function(&::getPluginRegistry, "getPluginRegistry"),
          engine_function(&::getLogger, "getLogger"),
          engine_function(&::tenonSetCpuKernel, "tenonSetCpuKernel"),
          engine_function(&::tenonSetCpuOnly, "tenonSetCpuOnly"),
          engine_function(&::tenonParallelFor, "tenonParallelFor"),
          engine_function(&::tenonMultiply, "tenonMultiply"),
          engine_function(&::tenonDescribePlugin, "tenonDescribePlugin"),
          engine_function(&::tenonReportPluginError, "tenonReportPluginError")};
}

/// As it was found when the library was loaded, or last asked for its creators.
__attribute__((visibility("hidden"))) inline Engine& engine() noexcept {
  static Engine found = find_engine();
  return found;
}

}  // namespace kit
}  // namespace tenon
