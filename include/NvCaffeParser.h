// Stand-in for the Caffe parser of TensorRT 8.x, which is not supported: convert models to ONNX.
#ifndef NV_CAFFE_PARSER_H
#define NV_CAFFE_PARSER_H

#include "NvInfer.h"
#include "tenon/compat8/unsupported.h"

namespace nvcaffeparser1 {

class IBlobNameToTensor {
 public:
  virtual nvinfer1::ITensor* find(const char* name) const noexcept = 0;

 protected:
  virtual ~IBlobNameToTensor() = default;
};

class IBinaryProtoBlob {
 public:
  virtual const void* getData() noexcept = 0;
  virtual nvinfer1::Dims4 getDimensions() noexcept = 0;
  virtual nvinfer1::DataType getDataType() noexcept = 0;
  virtual void destroy() noexcept = 0;
  virtual ~IBinaryProtoBlob() = default;
};

class IPluginFactoryV2 {
 public:
  virtual bool isPluginV2(const char* layerName) noexcept = 0;
  virtual nvinfer1::IPluginV2* createPlugin(const char* layerName, const nvinfer1::Weights* weights,
                                            int32_t nbWeights,
                                            const char* pluginNamespace = "") noexcept = 0;
  virtual ~IPluginFactoryV2() = default;
};

class ICaffeParser {
 public:
  virtual const IBlobNameToTensor* parse(const char* deploy, const char* model,
                                         nvinfer1::INetworkDefinition& network,
                                         nvinfer1::DataType weightType) noexcept = 0;
  virtual const IBlobNameToTensor* parseBuffers(const uint8_t* deploy, size_t deployLength,
                                                const uint8_t* model, size_t modelLength,
                                                nvinfer1::INetworkDefinition& network,
                                                nvinfer1::DataType weightType) noexcept = 0;
  virtual IBinaryProtoBlob* parseBinaryProto(const char* fileName) noexcept = 0;
  virtual void setProtobufBufferSize(size_t size) noexcept = 0;
  virtual void setPluginFactoryV2(IPluginFactoryV2* factory) noexcept = 0;
  virtual void setPluginNamespace(const char* pluginNamespace) noexcept = 0;
  virtual void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept = 0;
  virtual nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual void destroy() noexcept = 0;
  virtual ~ICaffeParser() = default;
};

/// Logs an error and returns null.
inline ICaffeParser* createCaffeParser() noexcept {
  return tenon::unsupported(
      "createCaffeParser: Caffe models are not supported; convert the model to ONNX and use "
      "nvonnxparser::createParser");
}

/// Does nothing: there is no protobuf to shut down.
inline void shutdownProtobufLibrary() noexcept {}

}  // namespace nvcaffeparser1

#endif  // NV_CAFFE_PARSER_H
