// Plugins and creators that are written in C++, as Python sees them. They are wrapped, as foreign
// objects may have no RTTI, which nanobind asks for.
#pragma once

#include <NvInferRuntime.h>

#include <memory>

#include "bind.h"
#include "engine_call.h"

namespace tenon::python {

/// A plugin of version 2. Made by make_cpp_plugin(), which knows the family.
class CppPluginV2 {
 public:
  explicit CppPluginV2(std::shared_ptr<nvinfer1::IPluginV2> plugin) : plugin_(std::move(plugin)) {}
  nvinfer1::IPluginV2& get() const { return *plugin_; }

 private:
  std::shared_ptr<nvinfer1::IPluginV2> plugin_;
};
class CppPluginV2Ext : public CppPluginV2 {
 public:
  using CppPluginV2::CppPluginV2;
  nvinfer1::IPluginV2Ext& ext() const { return static_cast<nvinfer1::IPluginV2Ext&>(get()); }
};
class CppPluginV2DynamicExt : public CppPluginV2Ext {
 public:
  using CppPluginV2Ext::CppPluginV2Ext;
  nvinfer1::IPluginV2DynamicExt& dynamic() const {
    return static_cast<nvinfer1::IPluginV2DynamicExt&>(get());
  }
};

/// A plugin of version 3, or one of its sides, which keeps the plugin.
class CppPluginV3 {
 public:
  explicit CppPluginV3(std::shared_ptr<nvinfer1::IPluginV3> plugin) : plugin_(std::move(plugin)) {}
  nvinfer1::IPluginV3& get() const { return *plugin_; }
  std::shared_ptr<nvinfer1::IPluginV3> owner() const { return plugin_; }

 private:
  std::shared_ptr<nvinfer1::IPluginV3> plugin_;
};

/// A plugin as a Python object: the user's own if it is written in Python, and otherwise a wrapper.
/// Without `owner`, which keeps the plugin, the wrapper owns the plugin; None for null. Needs the
/// GIL.
Any plugin_to_python(nvinfer1::IPluginV2* plugin, std::shared_ptr<void> owner = nullptr);
Any plugin_to_python(nvinfer1::IPluginV3* plugin, std::shared_ptr<void> owner = nullptr);

/// The creator as a Python object: the user's own, or a wrapper; None for null. Needs the GIL.
Any creator_to_python(nvinfer1::IPluginCreatorInterface* creator);

/// The creator that a wrapper stands for; null if `object` is none. Throws when it is gone.
nvinfer1::IPluginCreatorInterface* cpp_creator(nb::handle object);

}  // namespace tenon::python
