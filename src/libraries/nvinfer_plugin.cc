// libnvinfer_plugin.so and libnvinfer_vc_plugin.so: loading one brings libtenon, whose plugins
// register themselves.
#include "libraries/entry_points.h"

extern "C" bool initLibNvInferPlugins(void* logger, const char* pluginNamespace) {
  return tenonEntryPoints()->init_plugins(logger, pluginNamespace);
}
extern "C" bool initLibMMCVInferPlugins() {
  return tenonEntryPoints()->init_plugins(nullptr, "");
}
