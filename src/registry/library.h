// Plugin libraries: shared libraries that register creators, export them, or both.
#pragma once

#include <NvInferRuntime.h>

#include <vector>

namespace tenon {

/// Opens a library, whose static constructors run. Throws with the reason when it cannot be loaded.
/// @param what names its kind in the message.
/// @return what dlclose() takes.
void* open_library(const char* path, const char* what = "plugin library");

/// Calls its initLibNvInferPlugins(), if it or a library that it depends on has one: libraries made
/// of NVIDIA's sources register their plugins there.
void initialize(void* library);

/// The creators that an opened library exports instead of registering them in static constructors.
/// It gets the means to find the logger first.
std::vector<nvinfer1::IPluginCreatorInterface*> exported_creators(void* library);

}  // namespace tenon
