// The plugin registry, and with it, as programs of 8.x expect, the logger and the allocators.
#ifndef NV_INFER_RUNTIME_COMMON_H
#define NV_INFER_RUNTIME_COMMON_H

#include "NvInferRuntime.h"
#include "tenon/api/registry.h"

#endif  // NV_INFER_RUNTIME_COMMON_H
