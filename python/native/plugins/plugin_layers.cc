// Plugins as layers of a network.
#include <NvInfer.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "keep.h"
#include "network/network_parts.h"
#include "plugins/cpp_plugin.h"
#include "plugins/python_object.h"
#include "plugins/python_plugin.h"

namespace tenon::python {
namespace {

using nvinfer1::INetworkDefinition;
using nvinfer1::IPluginV2;
using nvinfer1::IPluginV2Layer;
using nvinfer1::IPluginV3;
using nvinfer1::IPluginV3Layer;
using nvinfer1::ITensor;

using Tensors = std::vector<ITensor*>;

int32_t count(const Tensors& tensors) {
  return static_cast<int32_t>(tensors.size());
}

/// A plugin of a layer keeps the layer's object, and by it the network.
template <class Layer> Any plugin_of(nb::handle self) {
  auto* const plugin = into_engine([&] { return &nb::cast<Layer&>(self).getPlugin(); });
  return plugin_to_python(plugin, std::make_shared<PythonObject>(nb::borrow(self)));
}

nb::object add_plugin_v2(nb::handle self, const Tensors& inputs, nb::handle plugin) {
  auto& network = nb::cast<INetworkDefinition&>(self);
  IPluginV2* const given = adapt_plugin_v2(plugin, "plugin", false);
  if (given == nullptr) return nb::none();
  return layer_object(into_engine([&] {
                        IPluginV2Layer* const layer =
                            network.addPluginV2(inputs.data(), count(inputs), *given);
                        given->destroy();
                        return layer;
                      }),
                      self);
}

nb::object add_plugin_v3(nb::handle self, const Tensors& inputs, const Tensors& shape_inputs,
                         nb::handle plugin) {
  auto& network = nb::cast<INetworkDefinition&>(self);
  const std::unique_ptr<IPluginV3> given(adapt_plugin_v3(plugin, "plugin", false));
  if (given == nullptr) return nb::none();
  return layer_object(into_engine([&] {
                        return network.addPluginV3(inputs.data(), count(inputs),
                                                   shape_inputs.data(), count(shape_inputs),
                                                   *given);
                      }),
                      self);
}

/// get_plugin_registry() of builders and runtimes: a process has one.
template <class Owner> void bind_registry_of(nb::handle owner) {
  nb::cpp_function_def([](Owner& self) { return &self.getPluginRegistry(); }, nb::scope(owner),
                       nb::name("get_plugin_registry"), nb::is_method(), nb::rv_policy::reference,
                       "The registry that its plugins are looked up in first.");
}

nb::object add_plugin(nb::handle self, nb::handle plugin, bool aot) {
  return python_class("tenon.tensorrt.plugin.registering", "add_plugin")(self, plugin, aot);
}

}  // namespace

void bind_plugin_layers(nb::module_& m) {
  layer_class<IPluginV2Layer>(m, "IPluginV2Layer", "Runs a plugin of version 2.")
      .def_prop_ro("plugin", &plugin_of<IPluginV2Layer>, "The layer's own copy of the plugin.");
  layer_class<IPluginV3Layer>(m, "IPluginV3Layer", "Runs a plugin of version 3.")
      .def_prop_ro("plugin", &plugin_of<IPluginV3Layer>, "The layer's own copy of the plugin.");

  bind_registry_of<nvinfer1::IBuilder>(m.attr("Builder"));
  bind_registry_of<nvinfer1::IRuntime>(m.attr("Runtime"));

  const nb::object network = m.attr("INetworkDefinition");
  const auto define = [&](auto function, const char* name, const auto&... extra) {
    nb::cpp_function_def(function, nb::scope(network), nb::name(name), nb::is_method(), extra...);
  };
  define(&add_plugin_v2, "add_plugin_v2", nb::arg("inputs"), nb::arg("plugin"),
         nb::sig("def add_plugin_v2(self, inputs: collections.abc.Sequence[ITensor], "
                 "plugin: object) -> IPluginV2Layer"),
         "Adds a plugin of version 2, of which the layer takes a clone.");
  define(&add_plugin_v3, "add_plugin_v3", nb::arg("inputs"), nb::arg("shape_inputs"),
         nb::arg("plugin"),
         nb::sig("def add_plugin_v3(self, inputs: collections.abc.Sequence[ITensor], "
                 "shape_inputs: collections.abc.Sequence[ITensor], plugin: object) "
                 "-> IPluginV3Layer"),
         "Adds a plugin of version 3, of which the layer takes a clone; `shape_inputs` are tensors "
         "whose values decide shapes.");
  define(&add_plugin, "add_plugin", nb::arg("plugin"), nb::arg("aot") = false,
         nb::sig("def add_plugin(self, plugin: tuple | collections.abc.Callable, "
                 "aot: bool = False) -> IPluginV3Layer"),
         "Adds a plugin of tensorrt.plugin.op, as in network.add_plugin(op.my.plugin(x, size=3)). "
         "Plugins compiled ahead of time (aot) are not supported yet.");
}

}  // namespace tenon::python
