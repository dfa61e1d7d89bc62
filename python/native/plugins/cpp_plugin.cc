#include "plugins/cpp_plugin.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tenon/plugin_runner.h>

#include <algorithm>
#include <vector>

#include "bind.h"
#include "plugins/plugin_descs.h"
#include "plugins/plugin_fields.h"

namespace tenon::python {
namespace {

using nvinfer1::DataType;
using nvinfer1::Dims;
using nvinfer1::DynamicPluginTensorDesc;
using nvinfer1::IPluginCapability;
using nvinfer1::IPluginV2;
using nvinfer1::IPluginV3;
using nvinfer1::PluginCapabilityType;
using nvinfer1::PluginTensorDesc;
using nvinfer1::TensorFormat;

template <class T> int32_t count(const std::vector<T>& list) {
  return static_cast<int32_t>(list.size());
}
template <class T> std::vector<T*> pointers(const std::vector<uintptr_t>& addresses) {
  std::vector<T*> list;
  for (uintptr_t address : addresses) list.push_back(reinterpret_cast<T*>(address));
  return list;
}

/// A side of a plugin, as long as the plugin lives.
template <class Interface> struct Side {
  std::shared_ptr<IPluginV3> plugin;
  Interface* side;
};
using Core = Side<nvinfer1::IPluginV3OneCore>;
using Build = Side<nvinfer1::IPluginV3OneBuild>;
using Runtime = Side<nvinfer1::IPluginV3OneRuntime>;

template <class Interface> Any side_of(const CppPluginV3& plugin, PluginCapabilityType type) {
  IPluginCapability* const side = plugin.get().getCapabilityInterface(type);
  if (side == nullptr) return nb::none();
  return nb::cast(Side<Interface>{plugin.owner(), static_cast<Interface*>(side)});
}

// The family is in the top byte of the number.
nvinfer1::PluginVersion family_of(const IPluginV2& plugin) {
  return static_cast<nvinfer1::PluginVersion>(static_cast<uint32_t>(plugin.getTensorRTVersion())
                                              >> 24);
}

void configure(CppPluginV2DynamicExt& p, const std::vector<DynamicPluginTensorDesc>& inputs,
               const std::vector<DynamicPluginTensorDesc>& outputs) {
  p.dynamic().configurePlugin(inputs.data(), count(inputs), outputs.data(), count(outputs));
}

}  // namespace

Any plugin_to_python(IPluginV2* plugin, std::shared_ptr<void> owner) {
  if (plugin == nullptr) return nb::none();
  if (nb::object known = python_of(plugin); known.is_valid()) {
    if (owner == nullptr) plugin->destroy();  // the Python object is its own
    return known;
  }
  std::shared_ptr<IPluginV2> kept(owner, plugin);
  if (owner == nullptr) kept = {plugin, [](IPluginV2* p) { p->destroy(); }};
  switch (family_of(*plugin)) {
    case nvinfer1::PluginVersion::kV2_DYNAMICEXT:
      return nb::cast(CppPluginV2DynamicExt(std::move(kept)));
    case nvinfer1::PluginVersion::kV2_EXT:
    case nvinfer1::PluginVersion::kV2_IOEXT:
      return nb::cast(CppPluginV2Ext(std::move(kept)));
    default:
      return nb::cast(CppPluginV2(std::move(kept)));
  }
}

Any plugin_to_python(IPluginV3* plugin, std::shared_ptr<void> owner) {
  if (plugin == nullptr) return nb::none();
  if (nb::object known = python_of(plugin); known.is_valid()) {
    if (owner == nullptr) delete plugin;
    return known;
  }
  std::shared_ptr<IPluginV3> kept(owner, plugin);
  if (owner == nullptr) kept.reset(plugin);
  return nb::cast(CppPluginV3(std::move(kept)));
}

void bind_cpp_plugins(nb::module_& m) {
  m.attr("PLUGIN_V2_DYNAMICEXT_VERSION") =
      nvinfer1::impl::pluginVersion(nvinfer1::PluginVersion::kV2_DYNAMICEXT);

  nb::class_<CppPluginV2>(m, "CppPluginV2", "An IPluginV2 that is written in C++.")
      .def_prop_ro(
          "num_outputs", [](CppPluginV2& p) { return p.get().getNbOutputs(); },
          "The number of outputs.")
      .def_prop_ro(
          "tensorrt_version", [](CppPluginV2& p) { return p.get().getTensorRTVersion(); },
          "The version it was compiled for, and its family in the top byte.")
      .def_prop_ro(
          "plugin_type", [](CppPluginV2& p) { return p.get().getPluginType(); },
          "The name it is registered under.")
      .def_prop_ro(
          "plugin_version", [](CppPluginV2& p) { return p.get().getPluginVersion(); },
          "The version it is registered under.")
      .def_prop_rw(
          "plugin_namespace", [](CppPluginV2& p) { return p.get().getPluginNamespace(); },
          [](CppPluginV2& p, const char* text) { p.get().setPluginNamespace(text); },
          "The namespace of its creator.")
      .def_prop_ro(
          "serialization_size", [](CppPluginV2& p) { return p.get().getSerializationSize(); },
          "The number of bytes of serialize().")
      .def(
          "get_output_shape",
          [](CppPluginV2& p, int32_t index, const std::vector<Dims>& input_shapes) {
            return p.get().getOutputDimensions(index, input_shapes.data(), count(input_shapes));
          },
          nb::arg("index"), nb::arg("input_shapes"),
          "The shape of an output, without the batch. Plugins with dynamic shapes have none.")
      .def(
          "supports_format",
          [](CppPluginV2& p, DataType dtype, TensorFormat format) {
            return p.get().supportsFormat(dtype, format);
          },
          nb::arg("dtype"), nb::arg("format"), "Whether all tensors may have this type and format.")
      .def(
          "configure_with_format",
          [](CppPluginV2& p, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs,
             DataType dtype, TensorFormat format, int32_t batch) {
            p.get().configureWithFormat(inputs.data(), count(inputs), outputs.data(),
                                        count(outputs), dtype, format, batch);
          },
          nb::arg("input_shapes"), nb::arg("output_shapes"), nb::arg("dtype"), nb::arg("format"),
          nb::arg("max_batch_size"), "Tells the shapes, the type and the format chosen.")
      .def(
          "initialize",
          [](CppPluginV2& p) { return into_engine([&] { return p.get().initialize(); }); },
          "Prepares to run; 0 on success.")
      .def(
          "terminate", [](CppPluginV2& p) { into_engine([&] { p.get().terminate(); }); },
          "Undoes initialize().")
      .def(
          "get_workspace_size",
          [](CppPluginV2& p, int32_t batch) { return p.get().getWorkspaceSize(batch); },
          nb::arg("max_batch_size"), "The scratch memory in bytes for batches of up to that size.")
      .def(
          "execute_async",
          [](CppPluginV2& p, int32_t batch, const std::vector<uintptr_t>& inputs,
             const std::vector<uintptr_t>& outputs, uintptr_t workspace, uintptr_t stream) {
            const auto in = pointers<const void>(inputs);
            const auto out = pointers<void>(outputs);
            return into_engine([&] {
              return p.get().enqueue(batch, in.data(), out.data(),
                                     reinterpret_cast<void*>(workspace),
                                     reinterpret_cast<cudaStream_t>(stream));
            });
          },
          nb::arg("batch_size"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("workspace"),
          nb::arg("stream_handle"), "Runs the plugin on these addresses; 0 on success.")
      .def(
          "serialize",
          [](CppPluginV2& p) {
            std::string bytes(p.get().getSerializationSize(), '\0');
            p.get().serialize(bytes.data());
            return nb::bytes(bytes.data(), bytes.size());
          },
          "The state as bytes, which the creator's deserialize_plugin() reads.")
      .def(
          "destroy", [](CppPluginV2&) {}, "Does nothing: the plugin goes with the object.")
      .def(
          "clone", [](CppPluginV2& p) { return plugin_to_python(p.get().clone()); },
          "A copy with all its state.");

  const auto output_type = [](CppPluginV2Ext& p, int32_t index,
                              const std::vector<DataType>& types) {
    return p.ext().getOutputDataType(index, types.data(), count(types));
  };
  nb::class_<CppPluginV2Ext, CppPluginV2>(m, "CppPluginV2Ext",
                                          "An IPluginV2Ext that is written in C++.")
      .def("get_output_data_type", output_type, nb::arg("index"), nb::arg("input_types"),
           "The type of an output.")
      .def("get_output_datatype", output_type, nb::arg("index"), nb::arg("input_types"),
           "The type of an output.")
      .def(
          "configure_plugin",
          [](CppPluginV2Ext& p, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs,
             const std::vector<DataType>& input_types, const std::vector<DataType>& output_types,
             const std::vector<uint8_t>& shared_inputs, const std::vector<uint8_t>& shared_outputs,
             TensorFormat format, int32_t batch) {
            if (input_types.size() != inputs.size() || shared_inputs.size() != inputs.size()
                || output_types.size() != outputs.size() || shared_outputs.size() != outputs.size())
              throw nb::value_error("shapes, types and broadcasts differ in number");
            p.ext().configurePlugin(
                inputs.data(), count(inputs), outputs.data(), count(outputs), input_types.data(),
                output_types.data(), reinterpret_cast<const bool*>(shared_inputs.data()),
                reinterpret_cast<const bool*>(shared_outputs.data()), format, batch);
          },
          nb::arg("input_shapes"), nb::arg("output_shapes"), nb::arg("input_types"),
          nb::arg("output_types"), nb::arg("input_is_broadcasted"), nb::arg("output_is_broacasted"),
          nb::arg("format"), nb::arg("max_batch_size"),
          "Tells the shapes, types and format chosen.")
      .def(
          "attach_to_context",
          [](CppPluginV2Ext& p, nb::handle, nb::handle, nb::handle) {
            p.ext().attachToContext(nullptr, nullptr, nullptr);
          },
          nb::arg("cudnn").none(), nb::arg("cublas").none(), nb::arg("allocator").none(),
          "Called when a context starts to use the plugin; there is no cuDNN and no cuBLAS.")
      .def(
          "detach_from_context", [](CppPluginV2Ext& p) { p.ext().detachFromContext(); },
          "Called when a context goes.");

  nb::class_<CppPluginV2DynamicExt, CppPluginV2Ext>(
      m, "CppPluginV2DynamicExt", "An IPluginV2DynamicExt that is written in C++.")
      .def(
          "get_output_dimensions",
          [](CppPluginV2DynamicExt& p, int32_t index, const std::vector<Extents>& inputs,
             const ExpressionBuilder& builder) {
            std::vector<nvinfer1::DimsExprs> shapes;
            for (const Extents& extents : inputs)
              shapes.push_back(engine_extents(extents, "get_output_dimensions"));
            const nvinfer1::DimsExprs shape =
                p.dynamic().getOutputDimensions(index, shapes.data(), count(shapes), builder.get());
            if (shape.nbDims < 0) throw nb::value_error("the plugin does not take these inputs");
            Extents extents;
            for (int32_t axis = 0; axis < shape.nbDims; ++axis)
              extents.d.emplace_back(builder.with(shape.d[axis]));
            return extents;
          },
          nb::arg("output_index"), nb::arg("inputs"), nb::arg("expr_builder"),
          "The shape of an output; for plugins in Python that use this one in theirs.")
      .def(
          "get_workspace_size",
          [](CppPluginV2DynamicExt& p, const std::vector<PluginTensorDesc>& inputs,
             const std::vector<PluginTensorDesc>& outputs) {
            return p.dynamic().getWorkspaceSize(inputs.data(), count(inputs), outputs.data(),
                                                count(outputs));
          },
          nb::arg("input_desc"), nb::arg("output_desc"),
          "The scratch memory in bytes that enqueue() needs.")
      .def(
          "enqueue",
          [](CppPluginV2DynamicExt& p, const std::vector<PluginTensorDesc>& input_descs,
             const std::vector<PluginTensorDesc>& output_descs,
             const std::vector<uintptr_t>& inputs, const std::vector<uintptr_t>& outputs,
             uintptr_t workspace, uintptr_t stream) {
            if (inputs.size() != input_descs.size() || outputs.size() != output_descs.size())
              throw nb::value_error("descriptions and addresses differ in number");
            const auto in = pointers<const void>(inputs);
            const auto out = pointers<void>(outputs);
            const TenonCpuKernel kernel = tenonCpuKernel(&p.get());  // as the engine runs it
            const int32_t status = into_engine([&] {
              void* const scratch = reinterpret_cast<void*>(workspace);
              return kernel != nullptr
                         ? kernel(&p.get(), input_descs.data(), output_descs.data(), in.data(),
                                  out.data(), scratch)
                         : p.dynamic().enqueue(input_descs.data(), output_descs.data(), in.data(),
                                               out.data(), scratch,
                                               reinterpret_cast<cudaStream_t>(stream));
            });
            if (status != 0)
              throw std::runtime_error("enqueue() failed with " + std::to_string(status)
                                       + "; the logger has what the plugin says");
          },
          nb::arg("input_desc"), nb::arg("output_desc"), nb::arg("inputs"), nb::arg("outputs"),
          nb::arg("workspace"), nb::arg("stream"), "Runs the plugin on these addresses.")
      .def("configure_plugin", &configure, nb::arg("inputs"), nb::arg("outputs"),
           "Tells types, formats and ranges of shapes.")
      .def(
          "supports_format_combination",
          [](CppPluginV2DynamicExt& p, int32_t pos, const std::vector<PluginTensorDesc>& all,
             int32_t inputs) {
            if (pos < 0 || pos >= count(all) || inputs < 0 || inputs > count(all))
              throw nb::index_error("pos or num_inputs is out of range");
            return p.dynamic().supportsFormatCombination(pos, all.data(), inputs,
                                                         count(all) - inputs);
          },
          nb::arg("pos"), nb::arg("in_out"), nb::arg("num_inputs"),
          "Whether tensor `pos` may have its type and format, given those before it.");

  nb::class_<CppPluginV3>(m, "CppPluginV3", "An IPluginV3 that is written in C++.")
      .def(
          "get_capability_interface",
          [](const CppPluginV3& p, PluginCapabilityType type) {
            switch (type) {
              case PluginCapabilityType::kCORE:
                return side_of<nvinfer1::IPluginV3OneCore>(p, type);
              case PluginCapabilityType::kBUILD:
                return side_of<nvinfer1::IPluginV3OneBuild>(p, type);
              default:
                return side_of<nvinfer1::IPluginV3OneRuntime>(p, type);
            }
          },
          nb::arg("type"), "The side of the plugin that is asked for; None if it has none.")
      .def(
          "destroy", [](CppPluginV3&) {}, "Does nothing: the plugin goes with the object.")
      .def(
          "clone", [](CppPluginV3& p) { return plugin_to_python(p.get().clone()); },
          "A copy with all its state.");

  nb::class_<Core>(m, "CppPluginV3OneCore", "An IPluginV3OneCore that is written in C++.")
      .def_prop_ro("plugin_name", [](Core& c) { return c.side->getPluginName(); })
      .def_prop_ro("plugin_version", [](Core& c) { return c.side->getPluginVersion(); })
      .def_prop_ro("plugin_namespace", [](Core& c) { return c.side->getPluginNamespace(); });

  nb::class_<Build>(m, "CppPluginV3OneBuild", "An IPluginV3OneBuild that is written in C++.")
      .def_prop_ro("num_outputs", [](Build& b) { return b.side->getNbOutputs(); })
      .def_prop_ro("format_combination_limit",
                   [](Build& b) { return b.side->getFormatCombinationLimit(); })
      .def_prop_ro("metadata_string", [](Build& b) { return b.side->getMetadataString(); })
      .def_prop_ro("timing_cache_id", [](Build& b) { return b.side->getTimingCacheID(); })
      .def(
          "get_output_data_types",
          [](Build& b, const std::vector<DataType>& inputs) {
            std::vector<DataType> types(static_cast<size_t>(std::max(0, b.side->getNbOutputs())));
            if (b.side->getOutputDataTypes(types.data(), count(types), inputs.data(), count(inputs))
                != 0)
              throw nb::value_error("the plugin does not take these input types");
            return types;
          },
          nb::arg("input_types"), "The type of each output.");

  nb::class_<Runtime>(m, "CppPluginV3OneRuntime", "An IPluginV3OneRuntime that is written in C++.")
      .def(
          "get_fields_to_serialize",
          [](Runtime& r) { return fields_to_python(r.side->getFieldsToSerialize(), true); },
          "The state, as a collection of fields.");
}

}  // namespace tenon::python
