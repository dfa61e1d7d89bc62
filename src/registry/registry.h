// The process's plugin registry: creators by namespace, name and version, and plugin libraries.
#pragma once

#include <NvInferRuntime.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// The registry behind getPluginRegistry(). Made on first use, never destroyed: plugin libraries
/// register before main() and unregister after it.
nvinfer1::IPluginRegistry& plugin_registry();

/// What its loadLibrary() does, but throws with the reason; for deregisterLibrary().
nvinfer1::IPluginRegistry::PluginLibraryHandle load_plugin_library(const std::string& path);

/// A registry of its own that looks into the process's one when it has no answer itself, unless
/// setParentSearchEnabled(false). It must not outlive its creators.
std::shared_ptr<nvinfer1::IPluginRegistry> make_child_registry();

/// One registered creator, as a user would name it.
struct CreatorInfo {
  std::string name, version, name_space;
  nvinfer1::IPluginCreatorInterface* creator = nullptr;
  bool is_v3 = false;
};

/// Registered creators, sorted by name, version and namespace.
std::vector<CreatorInfo> registered_creators();

/// The creator for a node, by rules C1 to C4 of ONNX custom operators: the exact namespace first,
/// then the empty one. Null when there is none.
nvinfer1::IPluginCreatorInterface* find_creator(std::string_view name, std::string_view version,
                                                std::string_view name_space);

/// What to tell a user whose plugin is missing: the closest names, the versions and namespaces that
/// exist, and how to load a library.
std::string explain_missing(std::string_view name, std::string_view version,
                            std::string_view name_space);

}  // namespace tenon
