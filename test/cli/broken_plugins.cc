// Plugins that break their contract in one way each, for `tenon plugins check` to find, and sound
// ones of every family of version 2. All multiply by a factor. Written without the kit, as for
// TensorRT.
#include <NvInferRuntime.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace nvinfer1;  // NOLINT: the file is all about it

enum class Fault {
  kNone,
  kWritesBehindOutput,
  kWritesInput,
  kSerializesMore,
  kForgetsInClone,
  kCountsCalls,
  kCrashes,
  kHangs,
  kWritesLess,
  kWritesBehindWorkspace,
  kLooksAhead,
  kTakesWrongType,
  kTakesWrongFields,
  kSharesMemory,
  kReadsWorkspace,
  kLaunchesKernel,
  kDeclaresNoType,  // which is allowed
};

std::atomic<int> calls{0}, inside{0};

template <class Base> class Scale : public Base {
 public:
  Scale(const char* name, Fault fault, float factor)
      : name_(name), fault_(fault), factor_(factor) {}

  const char* getPluginType() const noexcept override { return name_; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  // The shape may be what configured it: the families with fixed shapes keep it.
  size_t getSerializationSize() const noexcept override { return sizeof factor_ + sizeof count_; }
  void serialize(void* buffer) const noexcept override {
    std::memcpy(buffer, &factor_, sizeof factor_);
    std::memcpy(static_cast<char*>(buffer) + sizeof factor_, &count_, sizeof count_);
    if (fault_ == Fault::kSerializesMore) static_cast<char*>(buffer)[getSerializationSize()] = 1;
  }
  void restore(const void* data) {
    std::memcpy(&factor_, data, sizeof factor_);
    std::memcpy(&count_, static_cast<const char*>(data) + sizeof factor_, sizeof count_);
  }
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const char* text) noexcept override { name_space_ = text; }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }

 protected:
  template <class Plugin> Plugin* copy(const Plugin& plugin) const {
    auto* made = new Plugin(plugin);
    if (fault_ == Fault::kForgetsInClone) made->factor_ = 1;
    return made;
  }
  void take_shape(const Dims& dims) {
    count_ = 1;
    for (int i = 0; i < dims.nbDims; ++i) count_ *= dims.d[i];
  }
  int32_t run(const void* const* inputs, void* const* outputs, void* workspace,
              int64_t count) const {
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    float extra = 0;
    const bool is_alone = ++inside == 1;
    switch (fault_) {
      case Fault::kWritesBehindOutput:
        y[count] = 1;
        break;
      case Fault::kWritesInput:
        const_cast<float*>(x)[0] = -1;
        break;
      case Fault::kCountsCalls:
        extra = static_cast<float>(++calls);
        break;
      case Fault::kCrashes:
        std::raise(SIGSEGV);
        break;
      case Fault::kHangs:
        for (;;) sleep(1);
      case Fault::kWritesLess:
        --count;
        break;
      case Fault::kWritesBehindWorkspace:
        static_cast<char*>(workspace)[16] = 1;
        break;
      case Fault::kSharesMemory:
        usleep(20000);
        extra = is_alone && inside == 1 ? 0 : 1;
        break;
      case Fault::kReadsWorkspace:
        extra = static_cast<float>(static_cast<unsigned char*>(workspace)[0]);
        break;
      case Fault::kLaunchesKernel:
        cudaLaunchKernel(reinterpret_cast<const void*>(&calls), {}, {}, nullptr, 0, nullptr);
        break;
      default:
        break;
    }
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] * factor_ + extra;
    --inside;
    return 0;
  }

  const char* name_;
  Fault fault_;
  float factor_;
  int64_t count_ = 0;
  std::string name_space_;
};

// What the families with fixed shapes share.
template <class Base> class Fixed : public Scale<Base> {
 public:
  using Scale<Base>::Scale;
  Dims getOutputDimensions(int32_t, const Dims* inputs, int32_t) noexcept override {
    return inputs[0];
  }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t batch, const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t) noexcept override {
    return this->run(inputs, outputs, workspace, batch * this->count_);
  }
};

class Basic final : public Fixed<IPluginV2> {
 public:
  using Fixed::Fixed;
  IPluginV2* clone() const noexcept override { return copy(*this); }
  bool supportsFormat(DataType type, PluginFormat format) const noexcept override {
    return type == DataType::kFLOAT && format == PluginFormat::kLINEAR;
  }
  void configureWithFormat(const Dims* inputs, int32_t, const Dims*, int32_t, DataType,
                           PluginFormat, int32_t) noexcept override {
    take_shape(inputs[0]);
  }
};

class Ext final : public Fixed<IPluginV2Ext> {
 public:
  using Fixed::Fixed;
  IPluginV2Ext* clone() const noexcept override { return copy(*this); }
  bool supportsFormat(DataType type, PluginFormat format) const noexcept override {
    return type == DataType::kFLOAT && format == PluginFormat::kLINEAR;
  }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override {
    return types[0];
  }
  void configurePlugin(const Dims* inputs, int32_t, const Dims*, int32_t, const DataType*,
                       const DataType*, const bool*, const bool*, PluginFormat,
                       int32_t) noexcept override {
    take_shape(inputs[0]);
  }
};

class IOExt final : public Fixed<IPluginV2IOExt> {
 public:
  using Fixed::Fixed;
  IPluginV2Ext* clone() const noexcept override { return copy(*this); }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override {
    return types[0];
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* all, int32_t,
                                 int32_t) const noexcept override {
    return all[position].type == DataType::kFLOAT && all[position].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(const PluginTensorDesc* inputs, int32_t, const PluginTensorDesc*,
                       int32_t) noexcept override {
    take_shape(inputs[0].dims);
  }
};

class Dynamic final : public Scale<IPluginV2DynamicExt> {
 public:
  using Scale::Scale;
  IPluginV2DynamicExt* clone() const noexcept override { return copy(*this); }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override {
    return types[0];
  }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* inputs, int32_t,
                                IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* all, int32_t inputs,
                                 int32_t outputs) noexcept override {
    if (inputs != 1 || outputs != 1 || all[position].format != TensorFormat::kLINEAR) return false;
    if (fault_ == Fault::kTakesWrongType && all[position].type == DataType::kHALF)
      return all[0].type == DataType::kHALF;
    if (fault_ == Fault::kLooksAhead && all[1].type != DataType::kFLOAT) return false;
    return all[position].type == DataType::kFLOAT;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    return 16;
  }
  int32_t enqueue(const PluginTensorDesc* inputs, const PluginTensorDesc*,
                  const void* const* input_data, void* const* output_data, void* workspace,
                  cudaStream_t) noexcept override {
    int64_t count = 1;
    for (int i = 0; i < inputs[0].dims.nbDims; ++i) count *= inputs[0].dims.d[i];
    return run(input_data, output_data, workspace, count);
  }
};

template <class Plugin> class ScaleCreator final : public IPluginCreator {
 public:
  explicit ScaleCreator(const char* name, Fault fault = Fault::kNone) : name_(name), fault_(fault) {
    if (fault_ == Fault::kDeclaresNoType) field_.type = PluginFieldType::kUNKNOWN;
  }
  const char* getPluginName() const noexcept override { return name_; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &collection_; }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection* fields) noexcept override {
    float factor = 2;
    for (int i = 0; i < fields->nbFields; ++i) {
      const PluginField& f = fields->fields[i];
      if (std::strcmp(f.name, "factor") != 0 || fault_ == Fault::kTakesWrongFields) continue;
      if (f.type != PluginFieldType::kFLOAT32 || f.length != 1 || f.data == nullptr) return nullptr;
      std::memcpy(&factor, f.data, sizeof factor);
    }
    return new Plugin(name_, fault_, factor);
  }
  IPluginV2* deserializePlugin(const char*, const void* data, size_t size) noexcept override {
    if (size != sizeof(float) + sizeof(int64_t)) return nullptr;
    auto* plugin = new Plugin(name_, fault_, 0);
    plugin->restore(data);
    return plugin;
  }
  void setPluginNamespace(const char* text) noexcept override { name_space_ = text; }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }

 private:
  const char* name_;
  Fault fault_;
  std::string name_space_;
  PluginField field_{"factor", nullptr, PluginFieldType::kFLOAT32, 1};
  PluginFieldCollection collection_{1, &field_};
};

}  // namespace

extern "C" __attribute__((visibility("default"))) IPluginCreator* const* getPluginCreators(
    int32_t& count) {
  static ScaleCreator<Basic> basic("SoundV2");
  static ScaleCreator<Ext> ext("SoundV2Ext");
  static ScaleCreator<IOExt> io_ext("SoundV2IOExt");
  using Broken = ScaleCreator<Dynamic>;
  static Broken dynamic[] = {
      Broken("SoundV2DynamicExt"),
      Broken("WritesBehindOutput", Fault::kWritesBehindOutput),
      Broken("WritesInput", Fault::kWritesInput),
      Broken("SerializesMore", Fault::kSerializesMore),
      Broken("ForgetsInClone", Fault::kForgetsInClone),
      Broken("CountsCalls", Fault::kCountsCalls),
      Broken("Crashes", Fault::kCrashes),
      Broken("Hangs", Fault::kHangs),
      Broken("WritesLess", Fault::kWritesLess),
      Broken("WritesBehindWorkspace", Fault::kWritesBehindWorkspace),
      Broken("LooksAhead", Fault::kLooksAhead),
      Broken("TakesWrongType", Fault::kTakesWrongType),
      Broken("TakesWrongFields", Fault::kTakesWrongFields),
      Broken("SharesMemory", Fault::kSharesMemory),
      Broken("ReadsWorkspace", Fault::kReadsWorkspace),
      Broken("LaunchesKernel", Fault::kLaunchesKernel),
      Broken("SoundWithoutType", Fault::kDeclaresNoType),
  };
  static std::vector<IPluginCreator*> all = [] {
    std::vector<IPluginCreator*> list = {&basic, &ext, &io_ext};
    for (Broken& creator : dynamic) list.push_back(&creator);
    return list;
  }();
  count = static_cast<int32_t>(all.size());
  return all.data();
}
