// A plugin in the style of TensorRT 10.x: IPluginV3 with its three capabilities.
#include <NvInferRuntime.h>

#include <string>
#include <vector>

namespace {

using namespace nvinfer1;

class Scale : public IPluginV3,
              public IPluginV3OneCore,
              public IPluginV3OneBuildV2,
              public IPluginV3OneRuntime {
 public:
  explicit Scale(float factor) : factor_(factor) {}

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    switch (type) {
      case PluginCapabilityType::kCORE:
        return static_cast<IPluginV3OneCore*>(this);
      case PluginCapabilityType::kBUILD:
        return static_cast<IPluginV3OneBuild*>(this);
      case PluginCapabilityType::kRUNTIME:
        return static_cast<IPluginV3OneRuntime*>(this);
    }
    return nullptr;
  }
  IPluginV3* clone() noexcept override { return new Scale(factor_); }

  const char* getPluginName() const noexcept override { return "Scale"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const char* getPluginNamespace() const noexcept override { return ""; }

  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType* outputTypes, int32_t, const DataType* inputTypes,
                             int32_t) const noexcept override {
    outputTypes[0] = inputTypes[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder&) noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* inOut, int32_t,
                                 int32_t) noexcept override {
    return inOut[pos].desc.type == DataType::kFLOAT;
  }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getAliasedInput(int32_t) noexcept override { return 0; }

  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*,
                  void* const*, void*, cudaStream_t) noexcept override {
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    fields_ = {PluginField("factor", &factor_, PluginFieldType::kFLOAT32, 1)};
    collection_ = {1, fields_.data()};
    return &collection_;
  }

 private:
  float factor_;
  std::vector<PluginField> fields_;
  PluginFieldCollection collection_{};
};

class ScaleCreator : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fc,
                          TensorRTPhase) noexcept override {
    return new Scale(fc->nbFields == 1 ? *static_cast<const float*>(fc->fields[0].data) : 1.0F);
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &collection_; }
  const char* getPluginName() const noexcept override { return "Scale"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const char* getPluginNamespace() const noexcept override { return ""; }

 private:
  PluginFieldCollection collection_{};
};

REGISTER_TENSORRT_PLUGIN(ScaleCreator);

}  // namespace
