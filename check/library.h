// The creators of a plugin library.
#pragma once

#include <NvInferRuntime.h>

#include <string>
#include <vector>

namespace tenon::check {

/// Loads a library and gives its creators: those that it or its initLibNvInferPlugins() registers,
/// and those that it exports through getCreators() and getPluginCreators(). Without a path, those
/// that come along with Tenon.
/// Throws Failure when it cannot be loaded or has none.
std::vector<nvinfer1::IPluginCreatorInterface*> creators_of(const std::string& path);

}  // namespace tenon::check
