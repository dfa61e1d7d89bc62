/// Plugins in the style of tensorRT_Pro and of the tutorials around it: a class with SetupPlugin
/// and one enqueue() on tensors, made known by RegisterPlugin.
///
///     class Scale : public ONNXPlugin::TRTPlugin {
///      public:
///       SetupPlugin(Scale);
///       int enqueue(const std::vector<GTensor>& inputs, std::vector<GTensor>& outputs,
///                   const std::vector<GTensor>& weights, void* workspace,
///                   cudaStream_t stream) override { … }
///     };
///     RegisterPlugin(Scale);
///
/// An ONNX node of op_type "Plugin" with the attribute `name` finds it. It gets the attribute
/// `info` in config_->info_, and inputs of the node that are constants as weights.
#pragma once

#include <exception>
#include <iostream>

#include "layer_config.hpp"
#if defined(__CUDACC__)
#include "../common/cuda_tools.hpp"
#endif
#include "tenon/plugin/engine.h"

namespace ONNXPlugin {

enum Phase { CompilePhase, InferencePhase };

/// An error of a plugin: to the engine, which names the layer, or to standard error.
inline void report(const std::string& text) noexcept {
  if (const auto report = tenon::kit::engine().report_plugin_error; report != nullptr)
    report(text.c_str());
  else
    std::cerr << text << '\n';
}

inline DataType type_of(nvinfer1::DataType type) {
  switch (type) {
    case nvinfer1::DataType::kFLOAT:
      return DataType::Float;
    case nvinfer1::DataType::kHALF:
      return DataType::Float16;
    case nvinfer1::DataType::kINT32:
      return DataType::Int32;
    case nvinfer1::DataType::kUINT8:
      return DataType::UInt8;
    default:
      throw std::invalid_argument("tensors of data type " + std::to_string(static_cast<int>(type))
                                  + " are not known to this kind of plugin");
  }
}

class TRTPlugin : public nvinfer1::IPluginV2DynamicExt {
 public:
  using nvinfer1::IPluginV2DynamicExt::enqueue;
  /// @return 0 when all is well. Memory is device memory; `workspace` is as large as the
  /// configuration's workspace_size_.
  virtual int enqueue(const std::vector<GTensor>& inputs, std::vector<GTensor>& outputs,
                      const std::vector<GTensor>& weights, void* workspace,
                      cudaStream_t stream) = 0;
  /// Called when types, formats and the largest batch are in config_.
  virtual void config_finish() {}
  virtual std::shared_ptr<LayerConfig> new_config() { return std::make_shared<LayerConfig>(); }

  /// For a network.
  void pluginInit(const std::string& name, const std::string& info,
                  const std::vector<std::shared_ptr<Weight>>& weights) {
    start(name, CompilePhase);
    config_->setup(info, weights);
    config_->init();
  }
  /// From a plan.
  void pluginInit(const std::string& name, const void* data, size_t length) {
    start(name, InferencePhase);
    config_->deserialize(data, length);
    config_->init();
  }

  void setPluginNamespace(const char* name) noexcept override {
    namespace_ = name == nullptr ? "" : name;
  }
  const char* getPluginNamespace() const noexcept override { return namespace_.c_str(); }
  void attachToContext(cudnnContext*, cublasContext*, nvinfer1::IGpuAllocator*) noexcept override {}
  void detachFromContext() noexcept override {}
  void destroy() noexcept override { delete this; }
  void terminate() noexcept override {}

  int32_t getNbOutputs() const noexcept override {
    return guarded(-1, [this] { return config().num_output_; });
  }
  /// As the first input's.
  nvinfer1::DataType getOutputDataType(int32_t, const nvinfer1::DataType* inputs,
                                       int32_t) const noexcept override {
    return inputs[0];
  }
  nvinfer1::DimsExprs getOutputDimensions(int32_t, const nvinfer1::DimsExprs* inputs, int32_t,
                                          nvinfer1::IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t position, const nvinfer1::PluginTensorDesc* tensors,
                                 int32_t, int32_t) noexcept override {
    return guarded(false, [&] {
      const nvinfer1::PluginTensorDesc& tensor = tensors[position];
      return config().support_dtype_set_.count(tensor.type) > 0
             && config().support_plugin_format_set_.count(tensor.format) > 0;
    });
  }
  void configurePlugin(const nvinfer1::DynamicPluginTensorDesc* in, int32_t inputs,
                       const nvinfer1::DynamicPluginTensorDesc*, int32_t) noexcept override {
    guarded(0, [&] {
      LayerConfig& config = this->config();
      config.num_input_ = inputs;
      if (inputs > 0) {
        config.use(type_of(in[0].desc.type));
        config.usage_plugin_format_ = in[0].desc.format;
        config.max_batch_size_ = in[0].max.nbDims > 0 ? static_cast<int>(in[0].max.d[0]) : 1;
      }
      config_finish();
      return 0;
    });
  }
  int32_t initialize() noexcept override {
    return guarded(1, [this] {
      for (const auto& weight : config().weights_) weight->gpu();
      return 0;
    });
  }
  size_t getWorkspaceSize(const nvinfer1::PluginTensorDesc*, int32_t,
                          const nvinfer1::PluginTensorDesc*, int32_t) const noexcept override {
    return guarded(size_t{0}, [this] { return config().workspace_size_; });
  }
  int32_t enqueue(const nvinfer1::PluginTensorDesc* input_tensors,
                  const nvinfer1::PluginTensorDesc* output_tensors, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t stream) noexcept override {
    return guarded(1, [&] {
      LayerConfig& config = this->config();
      view(input_tensors_, config.num_input_, input_tensors, inputs);
      view(output_tensors_, config.num_output_, output_tensors, outputs);
      weight_tensors_.resize(config.weights_.size());
      for (size_t i = 0; i < weight_tensors_.size(); ++i) {
        Weight& weight = *config.weights_[i];
        weight_tensors_[i].ptr_ = weight.gpu();  // there since initialize()
        weight_tensors_[i].dtype_ = weight.dt_;
        weight_tensors_[i].shape_ = weight.dims_;
      }
      return enqueue(input_tensors_, output_tensors_, weight_tensors_, workspace, stream);
    });
  }
  size_t getSerializationSize() const noexcept override {
    return guarded(size_t{0}, [this] { return static_cast<size_t>(config().serialize()); });
  }
  void serialize(void* buffer) const noexcept override {
    guarded(0, [&] {
      config().serialize();
      config().serialize_data_copy_to(buffer);
      return 0;
    });
  }

 protected:
  TRTPlugin() = default;
  TRTPlugin(const TRTPlugin&) = default;

  /// A copy with a configuration of its own, so that two contexts do not share one.
  template <class P> static P* copy_of(const P& plugin) noexcept {
    return plugin.guarded(static_cast<P*>(nullptr), [&] {
      auto copy = std::make_unique<P>(plugin);
      copy->config_ = copy->new_config();
      copy->config_->take_over(plugin.config());
      copy->config_->init();
      return copy.release();
    });
  }

  std::string namespace_;
  std::string layerName_;
  Phase phase_ = CompilePhase;
  std::shared_ptr<LayerConfig> config_;

 private:
  template <class R, class F> R guarded(R failed, const F& body) const noexcept {
    try {
      return body();
    } catch (const std::exception& e) {
      report(std::string(getPluginType()) + ": " + e.what());
      return failed;
    }
  }

  void start(const std::string& name, Phase phase) {
    layerName_ = name;
    phase_ = phase;
    config_ = new_config();
  }
  LayerConfig& config() const {
    if (config_ == nullptr) throw std::logic_error("pluginInit() has not been called");
    return *config_;
  }
  template <class P>
  static void view(std::vector<GTensor>& tensors, int count, const nvinfer1::PluginTensorDesc* said,
                   P* pointers) {
    tensors.resize(static_cast<size_t>(count));
    for (size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].ptr_ = const_cast<void*>(pointers[i]);
      tensors[i].dtype_ = type_of(said[i].type);
      tensors[i].shape_.clear();
      for (int32_t axis = 0; axis < said[i].dims.nbDims; ++axis) {
        if (said[i].dims.d[axis] > INT_MAX)
          throw std::out_of_range("an extent is above " + std::to_string(INT_MAX));
        tensors[i].shape_.push_back(static_cast<int>(said[i].dims.d[axis]));
      }
    }
  }

  std::vector<GTensor> input_tensors_, output_tensors_, weight_tensors_;
};

/// Makes plugins of class P from the fields that the importer gives: `info`, and for each constant
/// input of the node `weights` (its elements) and after it `weights_shape`.
template <class P> class PluginCreator : public nvinfer1::IPluginCreator {
 public:
  explicit PluginCreator(const char* name) : name_(name) {}
  const char* getPluginName() const noexcept override { return name_; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &declared_; }
  nvinfer1::IPluginV2* createPlugin(
      const char* name, const nvinfer1::PluginFieldCollection* fields) noexcept override {
    return made([&](P& plugin) {
      std::string info;
      std::vector<std::shared_ptr<Weight>> weights;
      read(fields, info, weights);
      plugin.pluginInit(name, info, weights);
    });
  }
  nvinfer1::IPluginV2* deserializePlugin(const char* name, const void* data,
                                         size_t length) noexcept override {
    return made([&](P& plugin) { plugin.pluginInit(name, data, length); });
  }
  void setPluginNamespace(const char* name) noexcept override {
    namespace_ = name == nullptr ? "" : name;
  }
  const char* getPluginNamespace() const noexcept override { return namespace_.c_str(); }

 private:
  using Field = nvinfer1::PluginField;
  using FieldType = nvinfer1::PluginFieldType;

  template <class F> P* made(const F& initialise) const noexcept {
    try {
      auto plugin = std::make_unique<P>();
      initialise(*plugin);
      plugin->setPluginNamespace(namespace_.c_str());
      return plugin.release();
    } catch (const std::exception& e) {
      report(std::string(name_) + ": " + e.what());
      return nullptr;
    }
  }
  static void read(const nvinfer1::PluginFieldCollection* fields, std::string& info,
                   std::vector<std::shared_ptr<Weight>>& weights) {
    const Field* elements = nullptr;
    for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i) {
      const Field& field = fields->fields[i];
      const std::string name = field.name == nullptr ? "" : field.name;
      if (name == "info" && field.data != nullptr)
        info.assign(static_cast<const char*>(field.data), static_cast<size_t>(field.length));
      if (name == "weights") elements = &field;
      if (name == "weights_shape" && elements != nullptr)
        weights.push_back(weight(*elements, field));
    }
  }
  static std::shared_ptr<Weight> weight(const Field& elements, const Field& shape) {
    const auto* extents = static_cast<const int32_t*>(shape.data);
    const DataType type = elements.type == FieldType::kFLOAT32   ? DataType::Float
                          : elements.type == FieldType::kFLOAT16 ? DataType::Float16
                          : elements.type == FieldType::kINT32   ? DataType::Int32
                                                                 : DataType::Unknow;
    auto made = std::make_shared<Weight>(std::vector<int>(extents, extents + shape.length), type);
    if (made->numel_ != static_cast<size_t>(elements.length))
      throw std::invalid_argument("a weight of shape " + std::string(made->shape_string_) + " has "
                                  + std::to_string(elements.length) + " elements");
    if (made->data_bytes_ > 0) std::memcpy(made->pdata_host_, elements.data, made->data_bytes_);
    return made;
  }

  const char* name_;
  std::string namespace_;
  Field fields_[3] = {{"info", nullptr, FieldType::kCHAR, 0},
                      {"weights", nullptr, FieldType::kFLOAT32, 0},
                      {"weights_shape", nullptr, FieldType::kINT32, 0}};
  nvinfer1::PluginFieldCollection declared_{3, fields_};
};

}  // namespace ONNXPlugin

#define SetupPlugin(Class)                                         \
  const char* getPluginType() const noexcept override {            \
    return #Class;                                                 \
  }                                                                \
  const char* getPluginVersion() const noexcept override {         \
    return "1";                                                    \
  }                                                                \
  nvinfer1::IPluginV2DynamicExt* clone() const noexcept override { \
    return copy_of(*this);                                         \
  }                                                                \
  static_assert(true, "for the semicolon")

#define RegisterPlugin(Class)                                            \
  struct Class##PluginCreator final : ONNXPlugin::PluginCreator<Class> { \
    Class##PluginCreator() : PluginCreator(#Class) {}                    \
  };                                                                     \
  REGISTER_TENSORRT_PLUGIN(Class##PluginCreator)
