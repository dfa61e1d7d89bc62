// CuteSampleDynamicExtPlugin 1 (tiny-tensorrt): gives x as it is, and prints every call that the
// engine makes, in order: the life cycle of an IPluginV2DynamicExt. Written on TensorRT's interface
// itself, since the kit would hide what is to be seen.
#if !defined(__CUDACC__)  // it is there once, whatever the plugins are compiled for

#include <NvInfer.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

// Null in a test without an engine.
extern "C" __attribute__((weak)) nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;

namespace tenon::plugins {
namespace {

using namespace nvinfer1;  // NOLINT: all of it is TensorRT's

constexpr const char* kName = "CuteSampleDynamicExtPlugin";
constexpr const char* kVersion = "1";

size_t bytes_of(const PluginTensorDesc& desc) {
  size_t size = desc.type == DataType::kFLOAT || desc.type == DataType::kINT32 ? 4
                : desc.type == DataType::kHALF || desc.type == DataType::kBF16 ? 2
                : desc.type == DataType::kINT64                                ? 8
                                                                               : 1;
  for (int i = 0; i < desc.dims.nbDims; ++i) size *= static_cast<size_t>(desc.dims.d[i]);
  return size;
}

class Tracer final : public IPluginV2DynamicExt {
 public:
  explicit Tracer(const char* how) : number_(++made_) { trace(how); }
  Tracer(const Tracer& other) : name_space_(other.name_space_), number_(++made_) {
    trace("constructed by clone()");
  }
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() override { trace("destructed"); }

  const char* getPluginType() const noexcept override { return kName; }
  const char* getPluginVersion() const noexcept override { return kVersion; }
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
  int32_t initialize() noexcept override {
    trace("initialize");
    return 0;
  }
  void terminate() noexcept override { trace("terminate"); }
  // The engine of this library gives host memory.
  int32_t enqueue(const PluginTensorDesc* descs, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    trace("enqueue");
    if (bytes_of(descs[0]) > 0) std::memcpy(outputs[0], inputs[0], bytes_of(descs[0]));
    return 0;
  }
  size_t getSerializationSize() const noexcept override {
    trace("getSerializationSize");
    return 0;
  }
  void serialize(void*) const noexcept override { trace("serialize"); }
  IPluginV2DynamicExt* clone() const noexcept override {
    trace("clone");
    return new Tracer(*this);
  }
  void destroy() noexcept override {
    trace("destroy");
    delete this;
  }

 private:
  // "CuteSampleDynamicExtPlugin 2: enqueue"; the number tells objects apart.
  void trace(const char* what) const noexcept {
    std::printf("%s %d: %s\n", kName, number_, what);
    std::fflush(stdout);
  }

  static inline std::atomic<int> made_ = 0;
  std::string name_space_;
  int number_;
};

class TracerCreator final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return kName; }
  const char* getPluginVersion() const noexcept override { return kVersion; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  void setPluginNamespace(const char* name) noexcept override {
    name_space_ = name == nullptr ? "" : name;
  }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection*) noexcept override {
    return new Tracer("constructed by createPlugin()");
  }
  IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return new Tracer("constructed by deserializePlugin()");
  }

 private:
  PluginFieldCollection fields_{0, nullptr};
  std::string name_space_;
};

[[maybe_unused]] const bool kRegistered = [] {
  static TracerCreator creator;
  return getPluginRegistry != nullptr && getPluginRegistry()->registerCreator(creator, "");
}();

}  // namespace
}  // namespace tenon::plugins

#endif
