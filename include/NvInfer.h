// Everything needed to define networks and build engines.
#ifndef NV_INFER_H
#define NV_INFER_H

#include "NvInferLegacyDims.h"
#include "NvInferRuntime.h"
#include "tenon/api/builder.h"
#include "tenon/compat11/network.h"
#include "tenon/compat8/network.h"

extern "C" TENSORRTAPI void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept;

namespace nvinfer1 {

namespace safe {
class IPluginRegistry;
}  // namespace safe

/// Makes a builder, which the caller deletes; null on failure. `logger` outlives it and all that it
/// makes.
inline IBuilder* createInferBuilder(ILogger& logger) noexcept {
  return static_cast<IBuilder*>(createInferBuilder_INTERNAL(&logger, TENON_TRT_ABI_VERSION));
}

/// The registry for engines of a capability; null if the capability is not supported.
extern "C" TENSORRTAPI IPluginRegistry* getBuilderPluginRegistry(
    EngineCapability capability) noexcept;

/// Null: the safety runtime is not supported.
extern "C" TENSORRTAPI safe::IPluginRegistry* getBuilderSafePluginRegistry(
    EngineCapability capability) noexcept;

/// Sets where libraries are looked for that are loaded on demand; false if the path is not one.
extern "C" TENSORRTAPI bool setInternalLibraryPath(const AsciiChar* path) noexcept;

}  // namespace nvinfer1

#endif  // NV_INFER_H
