// A plugin of each of TensorRT's older families, which records how it is called.
#pragma once

#include <NvInferRuntime.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/tensor.h"
#include "plugin_layers/plugin_memory_test.h"

namespace tenon::testing {

/// The life of the plugins below, in order.
inline std::vector<std::string> plugin_calls;

/// y = x * factor, of as many elements as the plugin was configured for; a second output (not of
/// IPluginV2) tells the number as int32. Family is IPluginV2, IPluginV2Ext or IPluginV2IOExt. The
/// serialised form holds the factor and the number.
template <class Family> class Scaled : public Family {
 public:
  static constexpr bool kBasic = std::is_same_v<Family, nvinfer1::IPluginV2>;
  static constexpr bool kExt = std::is_same_v<Family, nvinfer1::IPluginV2Ext>;
  struct State {
    float factor = 1;
    int32_t count = -1;
  };

  explicit Scaled(State state) : state_(state) {}
  const char* getPluginType() const noexcept override { return name(); }
  const char* getPluginVersion() const noexcept override { return "1"; }
  static const char* name() { return kBasic ? "ScaledBasic" : kExt ? "ScaledExt" : "ScaledIOExt"; }
  int32_t getNbOutputs() const noexcept override { return kBasic ? 1 : 2; }
  nvinfer1::Dims getOutputDimensions(int32_t index, const nvinfer1::Dims* in,
                                     int32_t) noexcept override {
    return index == 0 ? in[0] : nvinfer1::Dims{};
  }
  bool supportsFormat(DataType type, nvinfer1::PluginFormat format) const noexcept override {
    return type == DataType::kFLOAT && format == nvinfer1::PluginFormat::kLINEAR;
  }
  void configureWithFormat(const nvinfer1::Dims* in, int32_t, const nvinfer1::Dims* out, int32_t,
                           DataType type, nvinfer1::PluginFormat, int32_t batch) noexcept override {
    if constexpr (kBasic) configured("format", in[0], out[0], type, batch);
  }
  int32_t initialize() noexcept override {
    plugin_calls.push_back("initialize");
    return 0;
  }
  void terminate() noexcept override { plugin_calls.push_back("terminate"); }
  size_t getWorkspaceSize(int32_t batch) const noexcept override {
    plugin_calls.push_back("workspace " + std::to_string(batch));
    return sizeof(float);
  }
  int32_t enqueue(int32_t batch, const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t stream) noexcept override {
    plugin_calls.push_back("enqueue " + std::to_string(batch));
    to_device(workspace, std::vector{state_.factor}, stream);
    const float factor = on_host<float>(workspace, 1, stream)[0];
    auto x = on_host<float>(inputs[0], static_cast<size_t>(state_.count * batch), stream);
    for (float& element : x) element *= factor;
    to_device(outputs[0], x, stream);
    if (!kBasic) to_device(outputs[1], std::vector{state_.count}, stream);
    return 0;
  }
  size_t getSerializationSize() const noexcept override { return sizeof state_; }
  void serialize(void* to) const noexcept override {
    plugin_calls.push_back(state_.count < 0 ? "serialize unconfigured" : "serialize");
    std::memcpy(to, &state_, sizeof state_);
  }
  void destroy() noexcept override {
    plugin_calls.push_back("destroy");
    delete this;
  }
  Scaled* clone() const noexcept override {
    plugin_calls.push_back("clone");
    if constexpr (kBasic)
      return new Scaled(*this);
    else
      return nullptr;  // the derived class has its own
  }
  void setPluginNamespace(const char* n) noexcept override { name_space_ = n; }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }

 protected:
  void configured(const char* how, const nvinfer1::Dims& in, const nvinfer1::Dims& out,
                  DataType type, int32_t batch) {
    plugin_calls.push_back("configure " + std::string(how) + " " + Shape(in).str() + " to "
                           + Shape(out).str() + (type == DataType::kFLOAT ? " float" : " not float")
                           + " batch " + std::to_string(batch));
    state_.count = static_cast<int32_t>(Shape(in).volume());
  }

 private:
  State state_;
  std::string name_space_;
};

using ScaledBasic = Scaled<nvinfer1::IPluginV2>;

/// What IPluginV2Ext adds.
template <class Family> class ScaledTyped : public Scaled<Family> {
 public:
  using Scaled<Family>::Scaled;
  DataType getOutputDataType(int32_t index, const DataType* in, int32_t) const noexcept override {
    return index == 0 ? in[0] : DataType::kINT32;
  }
  void attachToContext(cudnnContext*, cublasContext*,
                       nvinfer1::IGpuAllocator* allocator) noexcept override {
    plugin_calls.push_back(allocator != nullptr ? "attach" : "attach without allocator");
  }
  void detachFromContext() noexcept override { plugin_calls.push_back("detach"); }
};

class ScaledExt final : public ScaledTyped<nvinfer1::IPluginV2Ext> {
 public:
  using ScaledTyped::ScaledTyped;
  void configurePlugin(const nvinfer1::Dims* in, int32_t, const nvinfer1::Dims* out, int32_t,
                       const DataType* in_types, const DataType* out_types, const bool* in_shared,
                       const bool* out_shared, nvinfer1::PluginFormat format,
                       int32_t batch) noexcept override {
    const bool right = out_types[1] == DataType::kINT32 && !in_shared[0] && !out_shared[1]
                       && format == nvinfer1::PluginFormat::kLINEAR;
    configured(right ? "types" : "wrongly", in[0], out[0], in_types[0], batch);
  }
  ScaledExt* clone() const noexcept override {
    plugin_calls.push_back("clone");
    return new ScaledExt(*this);
  }
};

class ScaledIOExt final : public ScaledTyped<nvinfer1::IPluginV2IOExt> {
 public:
  using nvinfer1::IPluginV2IOExt::configurePlugin;
  using ScaledTyped::ScaledTyped;
  void configurePlugin(const nvinfer1::PluginTensorDesc* in, int32_t,
                       const nvinfer1::PluginTensorDesc* out, int32_t) noexcept override {
    configured(out[1].type == DataType::kINT32 ? "descriptions" : "wrongly", in[0].dims,
               out[0].dims, in[0].type, 1);
  }
  bool supportsFormatCombination(int32_t position, const nvinfer1::PluginTensorDesc* all, int32_t,
                                 int32_t) const noexcept override {
    return all[position].type == (position == 2 ? DataType::kINT32 : DataType::kFLOAT);
  }
  ScaledIOExt* clone() const noexcept override {
    plugin_calls.push_back("clone");
    return new ScaledIOExt(*this);
  }
};

template <class Plugin> class ScaledCreator final : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return Plugin::name(); }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  nvinfer1::IPluginV2* createPlugin(
      const char*, const nvinfer1::PluginFieldCollection* fields) noexcept override {
    plugin_calls.push_back("create");
    typename Plugin::State state;
    if (fields->nbFields == 1) state.factor = *static_cast<const float*>(fields->fields[0].data);
    return new Plugin(state);
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void* data,
                                         size_t size) noexcept override {
    plugin_calls.push_back("deserialize");
    typename Plugin::State state;
    if (size != sizeof state) return nullptr;
    std::memcpy(&state, data, size);
    return new Plugin(state);
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }

 private:
  nvinfer1::PluginField field_{"factor", nullptr, nvinfer1::PluginFieldType::kFLOAT32, 1};
  nvinfer1::PluginFieldCollection fields_{1, &field_};
};

}  // namespace tenon::testing
