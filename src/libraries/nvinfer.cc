// libnvinfer.so: TensorRT's functions, forwarded to libtenon.
#include "libraries/entry_points.h"

extern "C" {

void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept {
  return tenonEntryPoints()->create_builder(logger, version);
}

void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept {
  return tenonEntryPoints()->create_runtime(logger, version);
}

void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept {
  return tenonEntryPoints()->create_refitter(engine, logger, version);
}

nvinfer1::IPluginRegistry* getPluginRegistry() noexcept {
  return tenonEntryPoints()->plugin_registry();
}

nvinfer1::ILogger* getLogger() noexcept {
  return tenonEntryPoints()->logger();
}

int32_t getInferLibVersion() noexcept {
  return tenonEntryPoints()->version();
}
int32_t getInferLibMajorVersion() noexcept {
  return getInferLibVersion() / 10000;
}
int32_t getInferLibMinorVersion() noexcept {
  return getInferLibVersion() / 100 % 100;
}
int32_t getInferLibPatchVersion() noexcept {
  return getInferLibVersion() % 100;
}
int32_t getInferLibBuildVersion() noexcept {
  return 0;
}

}  // extern "C"

namespace nvinfer1 {
extern "C" {

IPluginRegistry* getBuilderPluginRegistry(EngineCapability capability) noexcept {
  return tenonEntryPoints()->builder_plugin_registry(capability);
}

safe::IPluginRegistry* getBuilderSafePluginRegistry(EngineCapability capability) noexcept {
  return tenonEntryPoints()->builder_safe_plugin_registry(capability);
}

bool setInternalLibraryPath(const AsciiChar* path) noexcept {
  return tenonEntryPoints()->set_internal_library_path(path);
}

}  // extern "C"
}  // namespace nvinfer1
