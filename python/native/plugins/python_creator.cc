// Plugin creators and resources that are written in Python.
#include <nanobind/stl/string.h>

#include "plugins/plugin_fields.h"
#include "plugins/python_object.h"
#include "plugins/python_plugin.h"

namespace tenon::python {
namespace {

using nvinfer1::APILanguage;
using nvinfer1::AsciiChar;
using nvinfer1::IPluginResource;
using nvinfer1::IPluginV2;
using nvinfer1::IPluginV3;
using nvinfer1::PluginFieldCollection;

constexpr const char* kCreatorModule = "tenon.tensorrt.plugin_classes";
constexpr const char* kCreate = "create_plugin";

nb::str text_of(const char* text) {
  return nb::str(text == nullptr ? "" : text);
}

/// A creator of TensorRT's class Interface. What it is called is read when it is made.
template <class Interface> class PythonCreator : public Interface, public Adapter {
 public:
  explicit PythonCreator(nb::object self)
      : Adapter(self, static_cast<nvinfer1::IPluginCreatorInterface*>(this)),
        name_(taken<std::string>(self.attr("name"), "name", "a str")),
        version_(taken<std::string>(self.attr("plugin_version"), "plugin_version", "a str")),
        fields_(self.attr("field_names"), class_name() + ".field_names") {}

  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  const AsciiChar* getPluginName() const noexcept override { return name_.c_str(); }
  const AsciiChar* getPluginVersion() const noexcept override { return version_.c_str(); }
  const AsciiChar* getPluginNamespace() const noexcept override {
    return text("plugin_namespace", name_space_);
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return fields_.collection(); }

 protected:
  // What a method made, for the engine to own; a creator refuses by None.
  template <class Plugin, class Adapt>
  Plugin* made(nb::handle plugin, const char* method, Adapt adapt) const {
    return plugin.is_none()
               ? nullptr
               : adapt(plugin, "what " + class_name() + "." + method + "() gave", true);
  }

 private:
  const std::string name_, version_;
  mutable std::string name_space_;
  Fields fields_;
};

class PythonCreatorV2 final : public PythonCreator<nvinfer1::IPluginCreator> {
 public:
  using PythonCreator::PythonCreator;

  void setPluginNamespace(const AsciiChar* name_space) noexcept override {
    status("plugin_namespace", [&]() -> nb::object {
      self().attr("plugin_namespace") = text_of(name_space);
      return nb::none();
    });
  }
  IPluginV2* createPlugin(const AsciiChar* name,
                          const PluginFieldCollection* fields) noexcept override {
    return call<IPluginV2*>(nullptr, kCreate, [&] {
      return made<IPluginV2>(user_method(kCreate)(text_of(name), fields_to_python(fields, true)),
                             kCreate, adapt_plugin_v2);
    });
  }
  IPluginV2* deserializePlugin(const AsciiChar* name, const void* data,
                               size_t size) noexcept override {
    constexpr const char* kName = "deserialize_plugin";
    return call<IPluginV2*>(nullptr, kName, [&] {
      return made<IPluginV2>(user_method(kName)(text_of(name), nb::bytes(data, size)), kName,
                             adapt_plugin_v2);
    });
  }
};

class PythonCreatorV3 final : public PythonCreator<nvinfer1::IPluginCreatorV3One> {
 public:
  using PythonCreator::PythonCreator;

  IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fields,
                          nvinfer1::TensorRTPhase phase) noexcept override {
    return call<IPluginV3*>(nullptr, kCreate, [&] {
      return made<IPluginV3>(
          user_method(kCreate)(text_of(name), fields_to_python(fields, true), phase), kCreate,
          adapt_plugin_v3);
    });
  }
};

class PythonResource final : public IPluginResource, public Adapter {
 public:
  explicit PythonResource(nb::object self)
      : Adapter(std::move(self), static_cast<IPluginResource*>(this)) {}

  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  int32_t release() noexcept override {
    return status("release", [&] { return user_method("release")(); });
  }
  IPluginResource* clone() noexcept override {
    constexpr const char* kName = "clone";
    return call<IPluginResource*>(nullptr, kName, [&]() -> IPluginResource* {
      const nb::object copy = user_method(kName)();
      if (!nb::isinstance(copy, python_class(kCreatorModule, "IPluginResource")))
        refuse(copy, kName, "IPluginResource");
      return new PythonResource(copy);
    });
  }
};

}  // namespace

std::unique_ptr<nvinfer1::IPluginCreatorInterface> adapt_creator(nb::handle creator) {
  if (nb::isinstance(creator, python_class(kCreatorModule, "IPluginCreator")))
    return std::make_unique<PythonCreatorV2>(nb::borrow(creator));
  if (nb::isinstance(creator, python_class(kCreatorModule, "IPluginCreatorV3One")))
    return std::make_unique<PythonCreatorV3>(nb::borrow(creator));
  const std::string message = std::string("the creator is ") + nb::repr(creator).c_str()
                              + "; expected an IPluginCreator or IPluginCreatorV3One";
  throw nb::type_error(message.c_str());
}

IPluginResource* adapt_resource(nb::handle resource) {
  if (!nb::isinstance(resource, python_class(kCreatorModule, "IPluginResource")))
    throw nb::type_error("the resource is no IPluginResource");
  return new PythonResource(nb::borrow(resource));
}

}  // namespace tenon::python
