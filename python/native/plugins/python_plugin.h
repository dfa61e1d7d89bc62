// Plugins and creators that are written in Python, as the engine sees them. All functions need the
// GIL; the objects that they make take it when the engine calls or deletes them.
#pragma once

#include <NvInferRuntime.h>

#include <memory>

#include "engine_call.h"

namespace tenon::python {

/// A plugin that stands for a Python object and keeps it. What was made in C++ is cloned. Throws a
/// TypeError when `plugin` is not of the class; `what` says in it where it came from.
/// @param owned whether the object is the engine's, which calls destroy() at its end.
nvinfer1::IPluginV2* adapt_plugin_v2(nb::handle plugin, const std::string& what, bool owned);
nvinfer1::IPluginV3* adapt_plugin_v3(nb::handle plugin, const std::string& what, bool owned);

/// A creator that stands for a Python object; throws what its attributes raise.
std::unique_ptr<nvinfer1::IPluginCreatorInterface> adapt_creator(nb::handle creator);

/// A resource that stands for a Python object, for the registry to own.
nvinfer1::IPluginResource* adapt_resource(nb::handle resource);

}  // namespace tenon::python
