// Plugins of version 2 that are written in Python.
#include <nanobind/stl/string.h>

#include <algorithm>

#include "plugins/cpp_plugin.h"
#include "plugins/plugin_descs.h"
#include "plugins/python_plugin.h"

namespace tenon::python {
namespace {

using nvinfer1::AsciiChar;
using nvinfer1::DataType;
using nvinfer1::DimsExprs;
using nvinfer1::DynamicPluginTensorDesc;
using nvinfer1::IPluginV2DynamicExt;
using nvinfer1::PluginTensorDesc;

class PythonPluginV2 final : public IPluginV2DynamicExt, public Adapter {
 public:
  PythonPluginV2(nb::object self, bool owned)
      : Adapter(std::move(self), static_cast<nvinfer1::IPluginV2*>(this)), owned_(owned) {}

  const AsciiChar* getPluginType() const noexcept override { return text("plugin_type", type_); }
  const AsciiChar* getPluginVersion() const noexcept override {
    return text("plugin_version", version_);
  }
  const AsciiChar* getPluginNamespace() const noexcept override {
    return text("plugin_namespace", name_space_);
  }
  void setPluginNamespace(const AsciiChar* name_space) noexcept override {
    call(0, "plugin_namespace", [&] {
      self().attr("plugin_namespace") = nb::str(name_space == nullptr ? "" : name_space);
      return 0;
    });
  }
  int32_t getNbOutputs() const noexcept override {
    constexpr const char* kName = "num_outputs";
    return call<int32_t>(-1, kName,
                         [&] { return taken<int32_t>(self().attr(kName), kName, "int"); });
  }

  DataType getOutputDataType(int32_t index, const DataType* types,
                             int32_t count) const noexcept override {
    constexpr const char* kName = "get_output_datatype";
    return call(static_cast<DataType>(-1), kName, [&] {
      return taken<DataType>(user_method(kName)(index, list_of(types, count)), kName, "DataType");
    });
  }
  DimsExprs getOutputDimensions(int32_t index, const DimsExprs* inputs, int32_t count,
                                nvinfer1::IExprBuilder& builder) noexcept override {
    constexpr const char* kName = "get_output_dimensions";
    DimsExprs failure{};
    failure.nbDims = -1;
    return call(failure, kName, [&] {
      const Lent lent;
      const auto shape =
          taken<Extents>(user_method(kName)(index, extents_list(inputs, count, lent),
                                            ExpressionBuilder(&builder, lent.live())),
                         kName, "DimsExprs");
      return engine_extents(shape, kName);
    });
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* all, int32_t inputs,
                                 int32_t outputs) noexcept override {
    count(inputs, outputs);
    constexpr const char* kName = "supports_format_combination";
    return call(false, kName, [&] {
      return truth(user_method(kName)(position, list_of(all, inputs + outputs), inputs));
    });
  }
  void configurePlugin(const DynamicPluginTensorDesc* inputs, int32_t input_count,
                       const DynamicPluginTensorDesc* outputs,
                       int32_t output_count) noexcept override {
    count(input_count, output_count);
    constexpr const char* kName = "configure_plugin";
    failed_ = status(kName, [&] {
      return user_method(kName)(list_of(inputs, input_count), list_of(outputs, output_count));
    });
  }
  size_t getWorkspaceSize(const PluginTensorDesc* inputs, int32_t input_count,
                          const PluginTensorDesc* outputs,
                          int32_t output_count) const noexcept override {
    constexpr const char* kName = "get_workspace_size";
    return call<size_t>(0, kName, [&] {
      return taken<size_t>(
          user_method(kName)(list_of(inputs, input_count), list_of(outputs, output_count)), kName,
          "a number of bytes");
    });
  }
  int32_t enqueue(const PluginTensorDesc* input_descs, const PluginTensorDesc* output_descs,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) noexcept override {
    if (failed_ != 0) return failed_;  // configure_plugin() has no way to say so itself
    const EnqueueCall arguments{input_descs, output_descs, inputs, outputs, workspace, stream};
    return status("enqueue", [&] { return arguments(self(), inputs_, outputs_); });
  }

  int32_t initialize() noexcept override {
    return status("initialize", [&] { return user_method("initialize")(); });
  }
  void terminate() noexcept override {
    status("terminate", [&] { return user_method("terminate")(); });
  }
  size_t getSerializationSize() const noexcept override {
    constexpr const char* kName = "serialize";
    return call(SIZE_MAX, kName, [&] {
      serialized_ = bytes_of(user_method(kName)(), kName);
      return serialized_.size();
    });
  }
  void serialize(void* buffer) const noexcept override {
    std::copy(serialized_.begin(), serialized_.end(), static_cast<char*>(buffer));
  }
  IPluginV2DynamicExt* clone() const noexcept override {
    constexpr const char* kName = "clone";
    return call<IPluginV2DynamicExt*>(nullptr, kName, [&]() -> IPluginV2DynamicExt* {
      const nb::object copy = user_method(kName)();
      if (!is_one(copy)) refuse(copy, kName, "IPluginV2DynamicExt");
      auto* const plugin = new PythonPluginV2(copy, true);
      plugin->count(inputs_, outputs_);
      return plugin;
    });
  }
  void destroy() noexcept override {
    if (owned_) status("destroy", [&] { return user_method("destroy")(); });
    delete this;
  }

  static bool is_one(nb::handle plugin) {
    return nb::isinstance(plugin,
                          python_class("tenon.tensorrt.plugin_classes", "IPluginV2DynamicExt"))
           && !nb::isinstance<CppPluginV2>(plugin);
  }

 private:
  ~PythonPluginV2() noexcept override = default;

  // enqueue() does not tell how many tensors there are.
  void count(int32_t inputs, int32_t outputs) {
    inputs_ = inputs;
    outputs_ = outputs;
  }
  std::string bytes_of(nb::handle value, const char* method) const {
    nb::bytes bytes;
    if (nb::try_cast(value, bytes)) return {bytes.c_str(), bytes.size()};
    refuse(value, method, "bytes");
  }

  const bool owned_;
  int32_t inputs_ = 0, outputs_ = 0, failed_ = 0;
  mutable std::string type_, version_, name_space_, serialized_;
};

}  // namespace

nvinfer1::IPluginV2* adapt_plugin_v2(nb::handle plugin, const std::string& what, bool owned) {
  return adapt<CppPluginV2, PythonPluginV2>(plugin, what, "IPluginV2DynamicExt", owned);
}

}  // namespace tenon::python
