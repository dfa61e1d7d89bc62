// A plugin as MMDeploy writes them, with a loop in place of a kernel.
#include <string>

#include "trt_plugin_base.hpp"
#include "trt_serialize.hpp"

namespace mmdeploy {
namespace {

// Rows and columns of an image (N, C, H, W) several times, multiplied: numpy.tile, or numpy.repeat
// along both axes.
class ScaledRepeat : public TRTPluginBase {
 public:
  ScaledRepeat(const std::string& name, float scale, const std::vector<int>& repeats,
               const std::string& mode)
      : TRTPluginBase(name),
        mScale(scale),
        mRepeats(repeats),
        mMode(mode){ASSERT(mRepeats.size() == 2)} ScaledRepeat(const std::string& name,
                                                               const void* data, size_t length)
      : TRTPluginBase(name) {
    deserialize_value(&data, &length, &mScale);
    deserialize_value(&data, &length, &mRepeats);
    const char* mode = nullptr;
    deserialize_value(&data, &length, &mode);
    mMode = mode;
    ASSERT(length == 0);
  }

  nvinfer1::IPluginV2DynamicExt* clone() const TRT_NOEXCEPT override {
    auto* plugin = new ScaledRepeat(mLayerName, mScale, mRepeats, mMode);
    plugin->setPluginNamespace(getPluginNamespace());
    return plugin;
  }
  nvinfer1::DimsExprs getOutputDimensions(int, const nvinfer1::DimsExprs* inputs, int,
                                          nvinfer1::IExprBuilder& builder) TRT_NOEXCEPT override {
    nvinfer1::DimsExprs out(inputs[0]);
    for (int i = 0; i < 2; ++i)
      out.d[2 + i] = builder.operation(nvinfer1::DimensionOperation::kPROD, *out.d[2 + i],
                                       *builder.constant(mRepeats[static_cast<size_t>(i)]));
    return out;
  }
  bool supportsFormatCombination(int pos, const nvinfer1::PluginTensorDesc* tensors, int,
                                 int) TRT_NOEXCEPT override {
    return tensors[pos].type == nvinfer1::DataType::kFLOAT
           && tensors[pos].format == nvinfer1::TensorFormat::kLINEAR;
  }
  int enqueue(const nvinfer1::PluginTensorDesc* in, const nvinfer1::PluginTensorDesc* out,
              const void* const* inputs, void* const* outputs, void*,
              cudaStream_t) TRT_NOEXCEPT override {
    const auto& from = in[0].dims.d;
    const auto& to = out[0].dims.d;
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    for (int64_t plane = 0; plane < to[0] * to[1]; ++plane)
      for (int64_t row = 0; row < to[2]; ++row)
        for (int64_t column = 0; column < to[3]; ++column) {
          const bool tile = mMode == "tile";
          const int64_t r = tile ? row % from[2] : row / mRepeats[0];
          const int64_t c = tile ? column % from[3] : column / mRepeats[1];
          *y++ = x[(plane * from[2] + r) * from[3] + c] * mScale;
        }
    return STATUS_SUCCESS;
  }
  nvinfer1::DataType getOutputDataType(int, const nvinfer1::DataType* types,
                                       int) const TRT_NOEXCEPT override {
    return types[0];
  }
  const char* getPluginType() const TRT_NOEXCEPT override { return "ScaledRepeat"; }
  int getNbOutputs() const TRT_NOEXCEPT override { return 1; }
  size_t getSerializationSize() const TRT_NOEXCEPT override {
    return serialized_size(mScale) + serialized_size(mRepeats) + serialized_size(mMode.c_str());
  }
  void serialize(void* buffer) const TRT_NOEXCEPT override {
    serialize_value(&buffer, mScale);
    serialize_value(&buffer, mRepeats);
    serialize_value(&buffer, mMode.c_str());
  }

 private:
  float mScale = 1;
  std::vector<int> mRepeats;
  std::string mMode;
};

class ScaledRepeatCreator : public TRTPluginCreatorBase {
 public:
  ScaledRepeatCreator() {
    for (const char* name : {"scale", "repeats", "mode"}) mPluginAttributes.emplace_back(name);
    mFC.nbFields = static_cast<int>(mPluginAttributes.size());
    mFC.fields = mPluginAttributes.data();
  }
  const char* getPluginName() const TRT_NOEXCEPT override { return "ScaledRepeat"; }
  nvinfer1::IPluginV2* createPlugin(const char* name, const nvinfer1::PluginFieldCollection* fc)
      TRT_NOEXCEPT override {
    float scale = 1;
    std::vector<int> repeats{1, 1};
    std::string mode = "tile";
    for (int i = 0; i < fc->nbFields; i++) {
      const nvinfer1::PluginField& field = fc->fields[i];
      const std::string which = field.name;
      if (which == "scale") scale = *static_cast<const float*>(field.data);
      const auto* integers = static_cast<const int*>(field.data);
      if (which == "repeats") repeats.assign(integers, integers + field.length);
      if (which == "mode") mode = static_cast<const char*>(field.data);
    }
    auto* plugin = new ScaledRepeat(name, scale, repeats, mode);
    plugin->setPluginNamespace(getPluginNamespace());
    return plugin;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char* name, const void* data,
                                         size_t length) TRT_NOEXCEPT override {
    return new ScaledRepeat(name, data, length);
  }
};

REGISTER_TENSORRT_PLUGIN(ScaledRepeatCreator);

}  // namespace
}  // namespace mmdeploy
