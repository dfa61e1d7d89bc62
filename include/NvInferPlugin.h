// Registers the plugin library.
#ifndef NV_INFER_PLUGIN_H
#define NV_INFER_PLUGIN_H

#include "NvInfer.h"
#include "NvInferPluginUtils.h"

extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, const char* pluginNamespace);

#endif  // NV_INFER_PLUGIN_H
