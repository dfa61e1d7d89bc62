// CuteSamplePlugin and CuteSampleDynamicExtPlugin 1 (tiny-tensorrt): they give x as it is, and
// print every call that the engine makes, in order: the life cycle of an IPluginV2Ext and of an
// IPluginV2DynamicExt. Written on TensorRT's interfaces themselves, since the kit would hide what
// is to be seen.
#if !defined(__CUDACC__)  // it is there once, whatever the plugins are compiled for

#include <NvInfer.h>
#include <tenon/plugin_host.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

// Null in a test without an engine, or without a CUDA runtime.
extern "C" __attribute__((weak)) nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;
extern "C" __attribute__((weak)) cudaError_t cudaMemcpyAsync(void* to, const void* from,
                                                             size_t bytes, cudaMemcpyKind kind,
                                                             cudaStream_t stream);

namespace tenon::plugins {
namespace {

using namespace nvinfer1;  // NOLINT: all of it is TensorRT's

size_t bytes_of(DataType type, const Dims& dims) {
  size_t size = type == DataType::kFLOAT || type == DataType::kINT32 ? 4
                : type == DataType::kHALF || type == DataType::kBF16 ? 2
                : type == DataType::kINT64                           ? 8
                                                                     : 1;
  for (int i = 0; i < dims.nbDims; ++i) size *= static_cast<size_t>(dims.d[i]);
  return size;
}

// What a plugin of either interface answers. Plugin has kName, and is made from `how` it is
// constructed, or as a copy.
template <class Plugin, class Interface> class Tracer : public Interface {
 public:
  explicit Tracer(const char* how) : number_(++made_) { trace(how); }
  Tracer(const Tracer& other) : name_space_(other.name_space_), number_(++made_) {
    trace("constructed by clone()");
  }
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() override { trace("destructed"); }

  const char* getPluginType() const noexcept override { return Plugin::kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  void setPluginNamespace(const char* name) noexcept override {
    trace("setPluginNamespace");
    name_space_ = name == nullptr ? "" : name;
  }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }
  int32_t getNbOutputs() const noexcept override {
    trace("getNbOutputs");
    return 1;
  }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override {
    trace("getOutputDataType");
    return types[0];
  }
  int32_t initialize() noexcept override {
    trace("initialize");
    return 0;
  }
  void terminate() noexcept override { trace("terminate"); }
  void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept override {
    trace("attachToContext");
  }
  void detachFromContext() noexcept override { trace("detachFromContext"); }
  Interface* clone() const noexcept override {
    trace("clone");
    return new Plugin(static_cast<const Plugin&>(*this));
  }
  void destroy() noexcept override {
    trace("destroy");
    delete static_cast<Plugin*>(this);
  }

 protected:
  // "CuteSampleDynamicExtPlugin 2: enqueue"; the number tells objects apart.
  void trace(const char* what) const noexcept {
    std::printf("%s %d: %s\n", Plugin::kName, number_, what);
    std::fflush(stdout);
  }
  int32_t copy(const void* from, void* to, size_t bytes, cudaStream_t stream) const noexcept {
    trace("enqueue");
    if (cudaMemcpyAsync != nullptr)
      return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream) == cudaSuccess ? 0 : 1;
    if (bytes > 0) std::memcpy(to, from, bytes);
    return 0;
  }

 private:
  static inline std::atomic<int> made_ = 0;
  std::string name_space_;
  int number_;
};

class CuteSample final : public Tracer<CuteSample, IPluginV2Ext> {
 public:
  static constexpr const char* kName = "CuteSamplePlugin";
  static constexpr const char* kText =
      "x as it is, in any format. Prints every call that the engine makes of its IPluginV2Ext.";
  explicit CuteSample(const char* how, const void* saved = nullptr, size_t size = 0) : Tracer(how) {
    if (size == sizeof(bytes_)) std::memcpy(&bytes_, saved, size);
  }

  Dims getOutputDimensions(int32_t, const Dims* inputs, int32_t) noexcept override {
    trace("getOutputDimensions");
    return inputs[0];
  }
  bool supportsFormat(DataType, PluginFormat) const noexcept override {
    trace("supportsFormat");
    return true;
  }
  void configurePlugin(const Dims* inputs, int32_t, const Dims*, int32_t, const DataType* types,
                       const DataType*, const bool*, const bool*, PluginFormat,
                       int32_t) noexcept override {
    trace("configurePlugin");
    bytes_ = bytes_of(types[0], inputs[0]);
  }
  size_t getWorkspaceSize(int32_t) const noexcept override {
    trace("getWorkspaceSize");
    return 0;
  }
  int32_t enqueue(int32_t batch, const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    return copy(inputs[0], outputs[0], bytes_ * static_cast<size_t>(batch), stream);
  }
  size_t getSerializationSize() const noexcept override {
    trace("getSerializationSize");
    return sizeof(bytes_);
  }
  void serialize(void* to) const noexcept override {
    trace("serialize");
    std::memcpy(to, &bytes_, sizeof(bytes_));
  }

 private:
  size_t bytes_ = 0;  // of an item of the batch
};

class CuteSampleDynamicExt final : public Tracer<CuteSampleDynamicExt, IPluginV2DynamicExt> {
 public:
  static constexpr const char* kName = "CuteSampleDynamicExtPlugin";
  static constexpr const char* kText =
      "x as it is. Prints every call that the engine makes of its IPluginV2DynamicExt.";
  explicit CuteSampleDynamicExt(const char* how, const void* = nullptr, size_t = 0) : Tracer(how) {}

  DimsExprs getOutputDimensions(int32_t, const DimsExprs* inputs, int32_t,
                                IExprBuilder&) noexcept override {
    trace("getOutputDimensions");
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* tensors, int32_t,
                                 int32_t) noexcept override {
    trace("supportsFormatCombination");
    return tensors[position].format == PluginFormat::kLINEAR
           && tensors[position].type == tensors[0].type;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {
    trace("configurePlugin");
  }
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    trace("getWorkspaceSize");
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* descs, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t stream) noexcept override {
    return copy(inputs[0], outputs[0], bytes_of(descs[0].type, descs[0].dims), stream);
  }
  size_t getSerializationSize() const noexcept override {
    trace("getSerializationSize");
    return 0;
  }
  void serialize(void*) const noexcept override { trace("serialize"); }
};

template <class Plugin> class Creator final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return Plugin::kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  void setPluginNamespace(const char* name) noexcept override {
    name_space_ = name == nullptr ? "" : name;
  }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection*) noexcept override {
    return new Plugin("constructed by createPlugin()");
  }
  IPluginV2* deserializePlugin(const char*, const void* data, size_t size) noexcept override {
    return new Plugin("constructed by deserializePlugin()", data, size);
  }

 private:
  PluginFieldCollection fields_{0, nullptr};
  std::string name_space_;
};

template <class Plugin> bool register_tracer() {
  static constexpr TenonPluginText kWhat{Plugin::kText, "", "Inputs: `x`. Outputs: `y`.", nullptr};
  static Creator<Plugin> creator;
  if (tenonDescribePlugin != nullptr)
    tenonDescribePlugin(static_cast<const IPluginCreatorInterface*>(&creator), &kWhat);
  return getPluginRegistry != nullptr && getPluginRegistry()->registerCreator(creator, "");
}

[[maybe_unused]] const bool kRegistered =
    register_tracer<CuteSample>() && register_tracer<CuteSampleDynamicExt>();

}  // namespace
}  // namespace tenon::plugins

#endif
