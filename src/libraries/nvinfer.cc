// libnvinfer.so: TensorRT's functions to build plans, forwarded to libtenon. Those to run them are
// in nvinfer_lean.cc.
#include "libraries/entry_points.h"

extern "C" {

void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept {
  return tenonEntryPoints()->create_builder(logger, version);
}

void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept {
  return tenonEntryPoints()->create_refitter(engine, logger, version);
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

}  // extern "C"
}  // namespace nvinfer1
