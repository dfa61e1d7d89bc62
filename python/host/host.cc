// libtenon_host.so: TensorRT's and Tenon's functions for plugin libraries, forwarded to libtenon.
//
// Plugin libraries need not name the engine that they are for: they find it in the program. Python
// opens libtenon so that nobody finds it, and with it the libraries below it, which others have
// too, such as PyTorch. This library stands on nothing, and is opened for all to find.
#include "host.h"

namespace {
tenon::python::Host host;
}

extern "C" {

void tenonSetHost(const tenon::python::Host& given) noexcept {
  host = given;
}

nvinfer1::IPluginRegistry* getPluginRegistry() noexcept {
  return host.plugin_registry();
}
nvinfer1::ILogger* getLogger() noexcept {
  return host.logger();
}
void tenonSetCpuKernel(void* plugin, TenonCpuKernel kernel) noexcept {
  host.set_cpu_kernel(plugin, kernel);
}
void tenonSetCpuOnly(void* plugin) noexcept {
  host.set_cpu_only(plugin);
}
void tenonParallelFor(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t),
                      void* state) noexcept {
  host.parallel_for(count, grain, body, state);
}
int32_t tenonMultiply(const TenonMatrixProduct* product) noexcept {
  return host.multiply(product);
}
void tenonDescribePlugin(const void* creator, const TenonPluginText* text) noexcept {
  host.describe_plugin(creator, text);
}
const TenonPluginText* tenonPluginText(const void* creator) noexcept {
  return host.plugin_text(creator);
}
void tenonReportPluginError(const char* message) noexcept {
  host.report_plugin_error(message);
}
}
