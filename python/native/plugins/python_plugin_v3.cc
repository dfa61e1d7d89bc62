// Plugins of version 3 that are written in Python: the plugin and its three sides.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "plugins/cpp_plugin.h"
#include "plugins/plugin_descs.h"
#include "plugins/plugin_fields.h"
#include "plugins/python_plugin.h"

namespace tenon::python {
namespace {

using nvinfer1::APILanguage;
using nvinfer1::AsciiChar;
using nvinfer1::DataType;
using nvinfer1::DimsExprs;
using nvinfer1::DynamicPluginTensorDesc;
using nvinfer1::IPluginCapability;
using nvinfer1::IPluginV3;
using nvinfer1::PluginCapabilityType;
using nvinfer1::PluginTensorDesc;

constexpr const char* kPluginModule = "tenon.tensorrt.plugin_classes";

/// A side of the plugin, of TensorRT's class Interface.
template <class Interface> class Side : public Interface, public Adapter {
 public:
  explicit Side(nb::object self) : Adapter(std::move(self), static_cast<Interface*>(this)) {}
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

class PythonCore final : public Side<nvinfer1::IPluginV3OneCore> {
 public:
  static constexpr const char* kClass = "IPluginV3OneCore";
  using Side::Side;
  const AsciiChar* getPluginName() const noexcept override { return text("plugin_name", name_); }
  const AsciiChar* getPluginVersion() const noexcept override {
    return text("plugin_version", version_);
  }
  const AsciiChar* getPluginNamespace() const noexcept override {
    return text("plugin_namespace", name_space_);
  }

 private:
  mutable std::string name_, version_, name_space_;
};

class PythonBuild final : public Side<nvinfer1::IPluginV3OneBuildV2> {
 public:
  static constexpr const char* kClass = "IPluginV3OneBuild";
  explicit PythonBuild(nb::object self)
      : Side(self),
        has_aliases_(nb::isinstance(self, python_class(kPluginModule, "IPluginV3OneBuildV2"))) {}

  nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"PLUGIN_V3ONE_BUILD", has_aliases_ ? 2 : 1, 0};
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc* inputs, int32_t input_count,
                          const DynamicPluginTensorDesc* outputs,
                          int32_t output_count) noexcept override {
    constexpr const char* kName = "configure_plugin";
    return status(kName, [&] {
      return user_method(kName)(list_of(inputs, input_count), list_of(outputs, output_count));
    });
  }
  int32_t getOutputDataTypes(DataType* types, int32_t count, const DataType* inputs,
                             int32_t input_count) const noexcept override {
    constexpr const char* kName = "get_output_data_types";
    return call(kFailed, kName, [&] {
      const nb::object result = user_method(kName)(list_of(inputs, input_count));
      const auto list = taken<std::vector<DataType>>(result, kName, "a list of DataType");
      expect_count(list.size(), count, kName);
      std::copy(list.begin(), list.end(), types);
      return 0;
    });
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t input_count,
                          const DimsExprs* shape_inputs, int32_t shape_input_count,
                          DimsExprs* outputs, int32_t count,
                          nvinfer1::IExprBuilder& builder) noexcept override {
    constexpr const char* kName = "get_output_shapes";
    return call(kFailed, kName, [&] {
      const Lent lent;
      const nb::object result =
          user_method(kName)(extents_list(inputs, input_count, lent),
                             extents_list(shape_inputs, shape_input_count, lent),
                             ExpressionBuilder(&builder, lent.live()));
      const auto list = taken<std::vector<Extents>>(result, kName, "a list of DimsExprs");
      expect_count(list.size(), count, kName);
      for (const Extents& extents : list)
        *outputs++ = engine_extents(extents, class_name() + "." + kName);
      return 0;
    });
  }
  bool supportsFormatCombination(int32_t position, const DynamicPluginTensorDesc* all,
                                 int32_t inputs, int32_t outputs) noexcept override {
    constexpr const char* kName = "supports_format_combination";
    return call(false, kName, [&] {
      return truth(user_method(kName)(position, list_of(all, inputs + outputs), inputs));
    });
  }
  int32_t getNbOutputs() const noexcept override { return number("num_outputs", -1); }
  size_t getWorkspaceSize(const DynamicPluginTensorDesc* inputs, int32_t input_count,
                          const DynamicPluginTensorDesc* outputs,
                          int32_t output_count) const noexcept override {
    constexpr const char* kName = "get_workspace_size";
    return call<size_t>(0, kName, [&] {
      return taken<size_t>(
          user_method(kName)(list_of(inputs, input_count), list_of(outputs, output_count)), kName,
          "a number of bytes");
    });
  }
  int32_t getNbTactics() noexcept override {
    constexpr const char* kName = "get_valid_tactics";
    return call(-1, kName, [&] {
      tactics_ = taken<std::vector<int32_t>>(user_method(kName)(), kName, "a list of int");
      return static_cast<int32_t>(tactics_.size());
    });
  }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    std::copy_n(tactics_.begin(), std::min(tactics_.size(), static_cast<size_t>(count)), tactics);
    return 0;
  }
  const char* getTimingCacheID() noexcept override { return text("timing_cache_id", timing_id_); }
  int32_t getFormatCombinationLimit() noexcept override {
    return number("format_combination_limit", -1);
  }
  const char* getMetadataString() noexcept override { return text("metadata_string", metadata_); }
  int32_t getAliasedInput(int32_t output) noexcept override {
    constexpr const char* kName = "get_aliased_input";
    return call(-1, kName,
                [&] { return taken<int32_t>(user_method(kName)(output), kName, "int"); });
  }

 private:
  int32_t number(const char* attribute, int32_t failure) const noexcept {
    return call(failure, attribute,
                [&] { return taken<int32_t>(self().attr(attribute), attribute, "int"); });
  }
  void expect_count(size_t found, int32_t expected, const char* method) const {
    if (found == static_cast<size_t>(expected)) return;
    const std::string message = class_name() + "." + method + " gave " + std::to_string(found)
                                + " for " + std::to_string(expected) + " outputs (num_outputs)";
    throw nb::value_error(message.c_str());
  }

  const bool has_aliases_;
  std::vector<int32_t> tactics_;
  std::string timing_id_, metadata_;
};

class PythonRuntime final : public Side<nvinfer1::IPluginV3OneRuntime> {
 public:
  static constexpr const char* kClass = "IPluginV3OneRuntime";
  using Side::Side;
  int32_t setTactic(int32_t tactic) noexcept override {
    return status("set_tactic", [&] { return user_method("set_tactic")(tactic); });
  }
  int32_t onShapeChange(const PluginTensorDesc* inputs, int32_t input_count,
                        const PluginTensorDesc* outputs, int32_t output_count) noexcept override {
    // enqueue() does not tell how many tensors there are.
    inputs_ = input_count;
    outputs_ = output_count;
    constexpr const char* kName = "on_shape_change";
    return status(kName, [&] {
      return user_method(kName)(list_of(inputs, input_count), list_of(outputs, output_count));
    });
  }
  int32_t enqueue(const PluginTensorDesc* input_descs, const PluginTensorDesc* output_descs,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) noexcept override {
    const EnqueueCall arguments{input_descs, output_descs, inputs, outputs, workspace, stream};
    return status("enqueue", [&] { return arguments(self(), inputs_, outputs_); });
  }
  IPluginV3* attachToContext(nvinfer1::IPluginResourceContext* context) noexcept override;
  const nvinfer1::PluginFieldCollection* getFieldsToSerialize() noexcept override {
    constexpr const char* kName = "get_fields_to_serialize";
    // Without fields there is no plan: a plugin that is restored from none would compute another.
    static constexpr nvinfer1::PluginFieldCollection kNone{-1, nullptr};
    return call(&kNone, kName, [&] {
      fields_ = std::make_unique<Fields>(user_method(kName)(), class_name() + "." + kName);
      return fields_->collection();
    });
  }

 private:
  int32_t inputs_ = 0, outputs_ = 0;
  std::unique_ptr<Fields> fields_;
};

class PythonPluginV3 final : public IPluginV3, public Adapter {
 public:
  PythonPluginV3(nb::object self, bool owned)
      : Adapter(std::move(self), static_cast<IPluginV3*>(this)), owned_(owned) {}
  ~PythonPluginV3() noexcept override {
    if (owned_) status("destroy", [&] { return user_method("destroy")(); });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    constexpr const char* kName = "get_capability_interface";
    return call<IPluginCapability*>(nullptr, kName, [&]() -> IPluginCapability* {
      const nb::object side = user_method(kName)(type);
      if (side.is_none()) return nullptr;
      if (type == PluginCapabilityType::kCORE) return adapted(side, core_);
      if (type == PluginCapabilityType::kBUILD) return adapted(side, build_);
      return adapted(side, runtime_);
    });
  }
  IPluginV3* clone() noexcept override {
    constexpr const char* kName = "clone";
    return call<IPluginV3*>(nullptr, kName, [&]() -> IPluginV3* {
      const nb::object copy = user_method(kName)();
      if (!is_one(copy)) refuse(copy, kName, "IPluginV3");
      return new PythonPluginV3(copy, true);
    });
  }
  static bool is_one(nb::handle plugin) {
    return nb::isinstance(plugin, python_class(kPluginModule, "IPluginV3"))
           && !nb::isinstance<CppPluginV3>(plugin);
  }

  /// Ends what Python may use while this plugin is attached to a context.
  std::unique_ptr<Lent> attached;

 private:
  template <class Adapted>
  IPluginCapability* adapted(const nb::object& side, std::vector<std::unique_ptr<Adapted>>& known) {
    for (const auto& one : known)
      if (one->self().is(side)) return one.get();
    if (!nb::isinstance(side, python_class(kPluginModule, Adapted::kClass)))
      refuse(side, "get_capability_interface", Adapted::kClass);
    return known.emplace_back(std::make_unique<Adapted>(side)).get();
  }

  const bool owned_;
  // A plugin mostly has one of each; those that it gave before may still be in use.
  std::vector<std::unique_ptr<PythonCore>> core_;
  std::vector<std::unique_ptr<PythonBuild>> build_;
  std::vector<std::unique_ptr<PythonRuntime>> runtime_;
};

IPluginV3* PythonRuntime::attachToContext(nvinfer1::IPluginResourceContext* context) noexcept {
  constexpr const char* kName = "attach_to_context";
  return call<IPluginV3*>(nullptr, kName, [&]() -> IPluginV3* {
    auto attached = std::make_unique<Lent>();
    const nb::object given =
        context == nullptr ? nb::none() : nb::cast(ResourceContext(context, attached->live()));
    const nb::object copy = user_method(kName)(given);
    if (!PythonPluginV3::is_one(copy)) refuse(copy, kName, "IPluginV3");
    auto* const plugin = new PythonPluginV3(copy, true);
    plugin->attached = std::move(attached);
    return plugin;
  });
}

}  // namespace

IPluginV3* adapt_plugin_v3(nb::handle plugin, const std::string& what, bool owned) {
  return adapt<CppPluginV3, PythonPluginV3>(plugin, what, "IPluginV3", owned);
}

}  // namespace tenon::python
