// Stand-in for the UFF parser of TensorRT 8.x, which is not supported: convert models to ONNX.
#ifndef NV_UFF_PARSER_H
#define NV_UFF_PARSER_H

#include "NvInfer.h"
#include "tenon/compat8/unsupported.h"

namespace nvuffparser {

enum class UffInputOrder : int32_t {
  kNCHW = 0,
  kNHWC = 1,
  kNC = 2,
};

class IUffParser {
 public:
  virtual bool registerInput(const char* inputName, nvinfer1::Dims inputDims,
                             UffInputOrder inputOrder) noexcept = 0;
  virtual bool registerOutput(const char* outputName) noexcept = 0;
  virtual bool parse(const char* fileName, nvinfer1::INetworkDefinition& network,
                     nvinfer1::DataType weightType = nvinfer1::DataType::kFLOAT) noexcept = 0;
  virtual bool parseBuffer(const char* buffer, size_t size, nvinfer1::INetworkDefinition& network,
                           nvinfer1::DataType weightType = nvinfer1::DataType::kFLOAT) noexcept = 0;
  virtual int getUffRequiredVersionMajor() noexcept = 0;
  virtual int getUffRequiredVersionMinor() noexcept = 0;
  virtual int getUffRequiredVersionPatch() noexcept = 0;
  virtual void setPluginNamespace(const char* pluginNamespace) noexcept = 0;
  virtual void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept = 0;
  virtual nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual void destroy() noexcept = 0;
  virtual ~IUffParser() = default;
};

/// Logs an error and returns null.
inline IUffParser* createUffParser() noexcept {
  return tenon::unsupported(
      "createUffParser: UFF models are not supported; convert the model to ONNX and use "
      "nvonnxparser::createParser");
}

/// Does nothing: there is no protobuf to shut down.
inline void shutdownProtobufLibrary() noexcept {}

}  // namespace nvuffparser

#endif  // NV_UFF_PARSER_H
