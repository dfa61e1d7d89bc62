// Everything needed to run engines and to write plugins.
#ifndef NV_INFER_RUNTIME_H
#define NV_INFER_RUNTIME_H

#include "NvInferImpl.h"
#include "tenon/api/inspector.h"
#include "tenon/api/plugin_v3.h"
#include "tenon/api/registry.h"

extern "C" TENSORRTAPI void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept;
extern "C" TENSORRTAPI void* createInferRefitter_INTERNAL(void* engine, void* logger,
                                                          int32_t version) noexcept;

/// The registry of the process; never null and never deleted.
extern "C" TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;

/// The logger given first to a builder, runtime or refitter; null while there is none.
extern "C" TENSORRTAPI nvinfer1::ILogger* getLogger() noexcept;

/// The parts of the version of the library that is loaded.
extern "C" TENSORRTAPI int32_t getInferLibMajorVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibMinorVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibPatchVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibBuildVersion() noexcept;

namespace nvinfer1 {

/// Makes a runtime, which the caller deletes; null on failure. `logger` outlives it.
inline IRuntime* createInferRuntime(ILogger& logger) noexcept {
  return static_cast<IRuntime*>(createInferRuntime_INTERNAL(&logger, TENON_TRT_ABI_VERSION));
}

/// Makes a refitter of `engine`, which the caller deletes first; null if the engine is not
/// refittable.
inline IRefitter* createInferRefitter(ICudaEngine& engine, ILogger& logger) noexcept {
  return static_cast<IRefitter*>(
      createInferRefitter_INTERNAL(&engine, &logger, TENON_TRT_ABI_VERSION));
}

/// Registers a creator of type T for as long as it lives; REGISTER_TENSORRT_PLUGIN makes one.
template <typename T> class PluginRegistrar {
 public:
  PluginRegistrar() { ::getPluginRegistry()->registerCreator(creator_, ""); }

 private:
  T creator_{};
};

}  // namespace nvinfer1

#define REGISTER_TENSORRT_PLUGIN(name) \
  static nvinfer1::PluginRegistrar<name> pluginRegistrar##name {}

#endif  // NV_INFER_RUNTIME_H
