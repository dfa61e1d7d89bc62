// A plugin in the style of TensorRT 8.x: IPluginV2DynamicExt with a serialised blob and a creator.
#include <NvInferRuntime.h>

#include <cstring>
#include <string>
#include <vector>

using namespace nvinfer1;

class Scale final : public IPluginV2DynamicExt {
 public:
  explicit Scale(float factor) : mFactor(factor) {}
  Scale(const void* data, size_t length) {
    if (length == sizeof(mFactor)) std::memcpy(&mFactor, data, length);
  }

  IPluginV2DynamicExt* clone() const noexcept override {
    auto* plugin = new Scale(mFactor);
    plugin->setPluginNamespace(mNamespace.c_str());
    return plugin;
  }
  DimsExprs getOutputDimensions(int outputIndex, const DimsExprs* inputs, int nbInputs,
                                IExprBuilder& exprBuilder) noexcept override {
    DimsExprs output(inputs[outputIndex]);
    output.d[0] = exprBuilder.operation(DimensionOperation::kPROD, *inputs[0].d[0],
                                        *exprBuilder.constant(nbInputs));
    return output;
  }
  bool supportsFormatCombination(int pos, const PluginTensorDesc* inOut, int /*nbInputs*/,
                                 int /*nbOutputs*/) noexcept override {
    return inOut[pos].type == DataType::kFLOAT && inOut[pos].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(const DynamicPluginTensorDesc* in, int nbInputs,
                       const DynamicPluginTensorDesc* /*out*/,
                       int /*nbOutputs*/) noexcept override {
    mRank = nbInputs > 0 ? in[0].max.nbDims : 0;
  }
  size_t getWorkspaceSize(const PluginTensorDesc*, int, const PluginTensorDesc*,
                          int) const noexcept override {
    return 0;
  }
  int enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* /*outputDesc*/,
              const void* const* inputs, void* const* outputs, void* /*workspace*/,
              cudaStream_t stream) noexcept override {
    const size_t bytes = inputDesc[0].dims.d[0] * sizeof(float);
    return cudaMemcpyAsync(outputs[0], inputs[0], bytes, cudaMemcpyDeviceToDevice, stream)
           != cudaSuccess;
  }
  DataType getOutputDataType(int index, const DataType* inputTypes,
                             int /*nbInputs*/) const noexcept override {
    return inputTypes[index];
  }
  const char* getPluginType() const noexcept override { return "Scale"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int getNbOutputs() const noexcept override { return 1; }
  int initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return sizeof(mFactor); }
  void serialize(void* buffer) const noexcept override {
    std::memcpy(buffer, &mFactor, sizeof(mFactor));
  }
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const char* name) noexcept override { mNamespace = name; }
  const char* getPluginNamespace() const noexcept override { return mNamespace.c_str(); }

 private:
  float mFactor = 1.0F;
  int mRank = 0;
  std::string mNamespace;
};

class ScaleCreator : public IPluginCreator {
 public:
  ScaleCreator() {
    mAttributes.emplace_back(PluginField("factor", nullptr, PluginFieldType::kFLOAT32, 1));
    mFields.nbFields = static_cast<int>(mAttributes.size());
    mFields.fields = mAttributes.data();
  }
  const char* getPluginName() const noexcept override { return "Scale"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &mFields; }
  IPluginV2* createPlugin(const char* /*name*/, const PluginFieldCollection* fc) noexcept override {
    return new Scale(fc->nbFields == 1 ? *static_cast<const float*>(fc->fields[0].data) : 1.0F);
  }
  IPluginV2* deserializePlugin(const char* /*name*/, const void* data,
                               size_t length) noexcept override {
    return new Scale(data, length);
  }
  void setPluginNamespace(const char* name) noexcept override { mNamespace = name; }
  const char* getPluginNamespace() const noexcept override { return mNamespace.c_str(); }

 private:
  PluginFieldCollection mFields{};
  std::vector<PluginField> mAttributes;
  std::string mNamespace;
};

REGISTER_TENSORRT_PLUGIN(ScaleCreator);

const char* findScale() {
  auto* creator = getPluginRegistry()->getPluginCreator("Scale", "1");
  return creator != nullptr ? creator->getPluginName() : nullptr;
}
