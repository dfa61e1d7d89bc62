// Plugins of version 3 with tensors in vector formats and with outputs in the memory of inputs, for
// `tenon plugins check`: sound ones, and ones that break their contract in one way each.
#include <NvInferRuntime.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace nvinfer1;  // NOLINT: the file is all about it

int64_t volume_of(const Dims& dims) {
  int64_t volume = 1;
  for (int i = 0; i < dims.nbDims; ++i) volume *= dims.d[i];
  return volume;
}

// What all of them share: an output like the input, no fields.
template <class Build>
class One : public IPluginV3, public IPluginV3OneCore, public Build, public IPluginV3OneRuntime {
 public:
  explicit One(const char* name) : name_(name) {}

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<Build*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  const AsciiChar* getPluginName() const noexcept override { return name_.data(); }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }

  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType* types, int32_t count, const DataType* inputs,
                             int32_t) const noexcept override {
    for (int i = 0; i < count; ++i) types[i] = inputs[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t,
                          DimsExprs* outputs, int32_t count, IExprBuilder&) noexcept override {
    for (int i = 0; i < count; ++i) outputs[i] = inputs[0];
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return 0;
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    static const PluginFieldCollection none{0, nullptr};
    return &none;
  }

 protected:
  std::string_view name_;
};

// Adds to each element the number of its channel; of 2x3x5x7 tensors, say, in formats with and
// without padding.
class AddChannel final : public One<IPluginV3OneBuild> {
 public:
  using One::One;
  IPluginV3* clone() noexcept override { return new AddChannel(*this); }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  bool supportsFormatCombination(int32_t position, const DynamicPluginTensorDesc* all,
                                 int32_t inputs, int32_t outputs) noexcept override {
    const PluginTensorDesc& t = all[position].desc;
    if (inputs != 1 || outputs != 1 || t.dims.nbDims != 4 || t.type != DataType::kFLOAT)
      return false;
    if (position == 1) return t.format == all[0].desc.format;
    return t.format == TensorFormat::kLINEAR || t.format == TensorFormat::kCHW32
           || t.format == TensorFormat::kHWC;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    const Dims& d = in[0].dims;
    const int64_t plane = d.d[2] * d.d[3];
    // Memory is vectors of channels in planes: all of them, one, or 32.
    int64_t vector = in[0].format == TensorFormat::kHWC ? d.d[1] : 1;
    if (in[0].format == TensorFormat::kCHW32) vector = name_ == "ForgetsPadding" ? d.d[1] : 32;
    if (name_ == "TakesWrongFormat") vector = 1;
    const int64_t vectors = (d.d[1] + vector - 1) / vector;
    for (int64_t i = 0; i < d.d[0] * vectors * plane * vector; ++i)
      y[i] = x[i] + static_cast<float>(i / vector / plane % vectors * vector + i % vector);
    return 0;
  }
};

// Adds 1 in place.
class AddInPlace final : public One<IPluginV3OneBuildV2> {
 public:
  using One::One;
  IPluginV3* clone() noexcept override { return new AddInPlace(*this); }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  int32_t getNbOutputs() const noexcept override { return name_ == "AliasesTwice" ? 2 : 1; }
  int32_t getAliasedInput(int32_t) noexcept override { return name_ == "AliasesNothing" ? 2 : 0; }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t input_count, const DimsExprs* values,
                          int32_t value_count, DimsExprs* outputs, int32_t count,
                          IExprBuilder& builder) noexcept override {
    One::getOutputShapes(inputs, input_count, values, value_count, outputs, count, builder);
    if (name_ == "AliasesSmaller") outputs[0].d[0] = builder.constant(64);
    return 0;
  }
  bool supportsFormatCombination(int32_t position, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    const PluginTensorDesc& t = all[position].desc;
    return t.type == DataType::kFLOAT && t.format == TensorFormat::kLINEAR;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    if (inputs[0] != outputs[0]) return 1;
    auto* y = static_cast<float*>(outputs[0]);
    const int64_t count = volume_of(in[0].dims);
    for (int64_t i = 0; i < count; ++i) ++y[i];
    if (name_ == "WritesBehindAliased") y[count] = 0;
    return 0;
  }
};

// The positive elements, of which there are as many as output 1 says.
class Positive final : public One<IPluginV3OneBuild> {
 public:
  using One::One;
  IPluginV3* clone() noexcept override { return new Positive(*this); }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  int32_t getNbOutputs() const noexcept override { return 2; }
  int32_t getOutputDataTypes(DataType* types, int32_t, const DataType* inputs,
                             int32_t) const noexcept override {
    types[0] = inputs[0];
    types[1] = DataType::kINT32;
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder& builder) noexcept override {
    const IDimensionExpr* all = builder.constant(1);
    for (int i = 0; i < inputs[0].nbDims; ++i)
      all = builder.operation(DimensionOperation::kPROD, *all, *inputs[0].d[i]);
    outputs[0].nbDims = 1;
    outputs[0].d[0] = builder.declareSizeTensor(1, *all, *all);
    outputs[1].nbDims = 0;
    return 0;
  }
  bool supportsFormatCombination(int32_t position, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    const PluginTensorDesc& t = all[position].desc;
    return t.type == (position == 2 ? DataType::kINT32 : DataType::kFLOAT)
           && t.format == TensorFormat::kLINEAR;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    int32_t count = 0;
    for (int64_t i = 0; i < volume_of(in[0].dims); ++i)
      if (x[i] > 0) y[count++] = x[i];
    *static_cast<int32_t*>(outputs[1]) = name_ == "SaysTooMany" ? count + 100 : count;
    return 0;
  }
};

template <class Plugin> class Creator final : public IPluginCreatorV3One {
 public:
  explicit Creator(const char* name) : name_(name) {}
  const AsciiChar* getPluginName() const noexcept override { return name_; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  IPluginV3* createPlugin(const char*, const PluginFieldCollection*,
                          TensorRTPhase) noexcept override {
    getLogger()->log(ILogger::Severity::kVERBOSE, name_);  // as plugins do that refuse something
    return new Plugin(name_);
  }

 private:
  const char* name_;
  PluginFieldCollection fields_{0, nullptr};
};

}  // namespace

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(
    int32_t& count) {
  static Creator<AddChannel> channels[] = {
      Creator<AddChannel>("SoundInFormats"),
      Creator<AddChannel>("ForgetsPadding"),
      Creator<AddChannel>("TakesWrongFormat"),
  };
  static Creator<AddInPlace> in_place[] = {
      Creator<AddInPlace>("SoundInPlace"),        Creator<AddInPlace>("AliasesNothing"),
      Creator<AddInPlace>("AliasesTwice"),        Creator<AddInPlace>("AliasesSmaller"),
      Creator<AddInPlace>("WritesBehindAliased"),
  };
  static Creator<Positive> positive[] = {Creator<Positive>("SoundSizes"),
                                         Creator<Positive>("SaysTooMany")};
  static const std::vector<IPluginCreatorInterface*> all = [] {
    std::vector<IPluginCreatorInterface*> list;
    for (auto& creator : channels) list.push_back(&creator);
    for (auto& creator : in_place) list.push_back(&creator);
    for (auto& creator : positive) list.push_back(&creator);
    return list;
  }();
  count = static_cast<int32_t>(all.size());
  return all.data();
}
