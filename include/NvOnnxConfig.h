// Settings of an ONNX import, kept in one object.
#ifndef NV_OnnxConfig_H
#define NV_OnnxConfig_H

#include "NvInfer.h"

namespace nvonnxparser {

/// Settings of an import, as 8.x samples pass them around; the application may implement it.
class IOnnxConfig {
 public:
  using Verbosity = int32_t;
  virtual ~IOnnxConfig() noexcept = default;

  /// Sets the type of the weights.
  virtual void setModelDtype(nvinfer1::DataType type) noexcept = 0;

  /// The type of the weights.
  virtual nvinfer1::DataType getModelDtype() const noexcept = 0;

  /// The file of the model.
  virtual const char* getModelFileName() const noexcept = 0;

  /// Sets the file of the model.
  virtual void setModelFileName(const char* fileName) noexcept = 0;

  /// How much is logged.
  virtual Verbosity getVerbosityLevel() const noexcept = 0;

  /// Logs more.
  virtual void addVerbosity() noexcept = 0;

  /// Logs less.
  virtual void reduceVerbosity() noexcept = 0;

  /// Sets how much is logged.
  virtual void setVerbosityLevel(Verbosity level) noexcept = 0;

  /// The file that the model is written to as text.
  virtual const char* getTextFileName() const noexcept = 0;

  /// Sets the file that the model is written to as text.
  virtual void setTextFileName(const char* fileName) noexcept = 0;

  /// The file that the model is written to as text, weights included.
  virtual const char* getFullTextFileName() const noexcept = 0;

  /// Sets the file that the model is written to as text, weights included.
  virtual void setFullTextFileName(const char* fileName) noexcept = 0;

  /// Whether layers are logged.
  virtual bool getPrintLayerInfo() const noexcept = 0;

  /// Sets whether layers are logged.
  virtual void setPrintLayerInfo(bool enabled) noexcept = 0;

#include "tenon/compat8/IOnnxConfig.inl"
};

/// Makes settings, which the caller deletes.
TENSORRTAPI IOnnxConfig* createONNXConfig();

}  // namespace nvonnxparser

#endif  // NV_OnnxConfig_H
