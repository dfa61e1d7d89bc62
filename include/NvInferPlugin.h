// Registers the plugin library.
#ifndef NV_INFER_PLUGIN_H
#define NV_INFER_PLUGIN_H

#include "NvInfer.h"
#include "NvInferPluginUtils.h"

/// Registers the plugin library's creators under a namespace, usually ""; true if they are
/// registered, even by an earlier call. `logger`, an ILogger, may be null.
extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, const char* pluginNamespace);

/// The same, as programs call it that use MMCV's plugin library. Its plugins are among these.
extern "C" TENSORRTAPI bool initLibMMCVInferPlugins();

#endif  // NV_INFER_PLUGIN_H
