// A plugin as MMDeploy writes them: each element's share of the sum of its row's magnitudes. It
// copies its input into the workspace, and a block reduces a row in shared memory.
#include <string>

#include "trt_plugin_base.hpp"
#include "trt_plugin_helper.hpp"
#include "trt_serialize.hpp"

namespace mmdeploy {
namespace {

constexpr int kThreads = 64;

template <typename T>
__global__ void share_kernel(const T* __restrict__ x, T* __restrict__ y, int length, float scale) {
  __shared__ float sums[kThreads];
  extern __shared__ float row[];
  float sum = 0;
  for (int i = threadIdx.x; i < length; i += kThreads) {
    row[i] = x[blockIdx.x * length + i];
    sum += fabsf(row[i]);
  }
  sums[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < length; i += kThreads)
    y[blockIdx.x * length + i] = static_cast<T>(scale * row[i] / sums[0]);
}

class RowShare : public TRTPluginBase {
 public:
  RowShare(const std::string& name, float scale) : TRTPluginBase(name), mScale(scale) {}
  RowShare(const std::string& name, const void* data, size_t length) : TRTPluginBase(name) {
    deserialize_value(&data, &length, &mScale);
  }

  nvinfer1::IPluginV2DynamicExt* clone() const TRT_NOEXCEPT override {
    auto* plugin = new RowShare(mLayerName, mScale);
    plugin->setPluginNamespace(getPluginNamespace());
    return plugin;
  }
  nvinfer1::DimsExprs getOutputDimensions(int, const nvinfer1::DimsExprs* inputs, int,
                                          nvinfer1::IExprBuilder&) TRT_NOEXCEPT override {
    return inputs[0];
  }
  bool supportsFormatCombination(int pos, const nvinfer1::PluginTensorDesc* tensors, int,
                                 int) TRT_NOEXCEPT override {
    return tensors[pos].type == nvinfer1::DataType::kFLOAT
           && tensors[pos].format == nvinfer1::TensorFormat::kLINEAR;
  }
  size_t getWorkspaceSize(const nvinfer1::PluginTensorDesc* in, int,
                          const nvinfer1::PluginTensorDesc*, int) const TRT_NOEXCEPT override {
    return rows(in[0].dims) * in[0].dims.d[in[0].dims.nbDims - 1] * sizeof(float);
  }
  int enqueue(const nvinfer1::PluginTensorDesc* in, const nvinfer1::PluginTensorDesc* out,
              const void* const* inputs, void* const* outputs, void* workspace,
              cudaStream_t stream) TRT_NOEXCEPT override {
    const size_t bytes = getWorkspaceSize(in, 1, out, 1);
    const int length = in[0].dims.d[in[0].dims.nbDims - 1];
    auto* copy = static_cast<float*>(workspace);
    cudaMemcpyAsync(copy, inputs[0], bytes, cudaMemcpyDeviceToDevice, stream);
    share_kernel<<<rows(in[0].dims), kThreads, length * sizeof(float), stream>>>(
        copy, static_cast<float*>(outputs[0]), length, mScale);
    return cudaGetLastError() != cudaSuccess;
  }
  nvinfer1::DataType getOutputDataType(int, const nvinfer1::DataType* types,
                                       int) const TRT_NOEXCEPT override {
    return types[0];
  }
  const char* getPluginType() const TRT_NOEXCEPT override { return "RowShare"; }
  int getNbOutputs() const TRT_NOEXCEPT override { return 1; }
  size_t getSerializationSize() const TRT_NOEXCEPT override { return serialized_size(mScale); }
  void serialize(void* buffer) const TRT_NOEXCEPT override { serialize_value(&buffer, mScale); }

 private:
  static int rows(const nvinfer1::Dims& dims) {
    int count = 1;
    for (int i = 0; i + 1 < dims.nbDims; ++i) count *= dims.d[i];
    return count;
  }

  float mScale = 1;
};

class RowShareCreator : public TRTPluginCreatorBase {
 public:
  RowShareCreator() {
    mPluginAttributes.emplace_back("scale");
    mFC.nbFields = 1;
    mFC.fields = mPluginAttributes.data();
  }
  const char* getPluginName() const TRT_NOEXCEPT override { return "RowShare"; }
  nvinfer1::IPluginV2* createPlugin(const char* name, const nvinfer1::PluginFieldCollection* fc)
      TRT_NOEXCEPT override {
    float scale = 1;
    for (int i = 0; i < fc->nbFields; i++)
      if (std::string(fc->fields[i].name) == "scale")
        scale = *static_cast<const float*>(fc->fields[i].data);
    auto* plugin = new RowShare(name, scale);
    plugin->setPluginNamespace(getPluginNamespace());
    return plugin;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char* name, const void* data,
                                         size_t length) TRT_NOEXCEPT override {
    return new RowShare(name, data, length);
  }
};

REGISTER_TENSORRT_PLUGIN(RowShareCreator);

}  // namespace
}  // namespace mmdeploy
