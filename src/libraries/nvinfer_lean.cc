// libnvinfer_lean.so and libnvinfer_dispatch.so: TensorRT's functions to run plans, forwarded to
// libtenon. libnvinfer.so has them, too.
#include "libraries/entry_points.h"

extern "C" {

void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept {
  return tenonEntryPoints()->create_runtime(logger, version);
}

nvinfer1::IPluginRegistry* getPluginRegistry() noexcept {
  return tenonEntryPoints()->plugin_registry();
}

nvinfer1::ILogger* getLogger() noexcept {
  return tenonEntryPoints()->logger();
}

// Of the headers' dialect, for programs that compare the library with their headers.
int32_t getInferLibVersion() noexcept {
  return NV_TENSORRT_VERSION;
}
int32_t getInferLibMajorVersion() noexcept {
  return NV_TENSORRT_MAJOR;
}
int32_t getInferLibMinorVersion() noexcept {
  return NV_TENSORRT_MINOR;
}
int32_t getInferLibPatchVersion() noexcept {
  return NV_TENSORRT_PATCH;
}
int32_t getInferLibBuildVersion() noexcept {
  return 0;
}

}  // extern "C"

namespace nvinfer1 {
extern "C" bool setInternalLibraryPath(const AsciiChar* path) noexcept {
  return tenonEntryPoints()->set_internal_library_path(path);
}
}  // namespace nvinfer1
