// Settings of an ONNX import, kept in one object.
#ifndef NV_OnnxConfig_H
#define NV_OnnxConfig_H

#include "NvInfer.h"

namespace nvonnxparser {

class IOnnxConfig {
 public:
  using Verbosity = int32_t;
  virtual ~IOnnxConfig() noexcept = default;
  virtual void setModelDtype(nvinfer1::DataType type) noexcept = 0;
  virtual nvinfer1::DataType getModelDtype() const noexcept = 0;
  virtual const char* getModelFileName() const noexcept = 0;
  virtual void setModelFileName(const char* fileName) noexcept = 0;
  virtual Verbosity getVerbosityLevel() const noexcept = 0;
  virtual void addVerbosity() noexcept = 0;
  virtual void reduceVerbosity() noexcept = 0;
  virtual void setVerbosityLevel(Verbosity level) noexcept = 0;
  virtual const char* getTextFileName() const noexcept = 0;
  virtual void setTextFileName(const char* fileName) noexcept = 0;
  virtual const char* getFullTextFileName() const noexcept = 0;
  virtual void setFullTextFileName(const char* fileName) noexcept = 0;
  virtual bool getPrintLayerInfo() const noexcept = 0;
  virtual void setPrintLayerInfo(bool enabled) noexcept = 0;

#include "tenon/compat8/IOnnxConfig.inl"
};

TENSORRTAPI IOnnxConfig* createONNXConfig();

}  // namespace nvonnxparser

#endif  // NV_OnnxConfig_H
