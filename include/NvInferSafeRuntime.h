// Stand-in for the safety runtime of TensorRT 8.x, which is not supported.
#ifndef NV_INFER_SAFE_RUNTIME_H
#define NV_INFER_SAFE_RUNTIME_H

#include "NvInferRuntime.h"
#include "tenon/compat8/unsupported.h"

namespace nvinfer1 {
namespace safe {

class IExecutionContext;

class ICudaEngine {
 public:
  virtual IExecutionContext* createExecutionContext() noexcept = 0;
  virtual IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept = 0;
  virtual size_t getDeviceMemorySize() const noexcept = 0;
  virtual const char* getName() const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual int32_t getNbIOTensors() const noexcept = 0;
  virtual const char* getIOTensorName(int32_t index) const noexcept = 0;
  virtual Dims getTensorShape(const char* tensorName) const noexcept = 0;
  virtual DataType getTensorDataType(const char* tensorName) const noexcept = 0;
  virtual TensorIOMode getTensorIOMode(const char* tensorName) const noexcept = 0;
  virtual TensorLocation getTensorLocation(const char* tensorName) const noexcept = 0;
  virtual TensorFormat getTensorFormat(const char* tensorName) const noexcept = 0;
  virtual int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept = 0;
  virtual int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept = 0;
  virtual int32_t getTensorVectorizedDim(const char* tensorName) const noexcept = 0;
  virtual int32_t getNbBindings() const noexcept = 0;
  virtual int32_t getBindingIndex(const char* name) const noexcept = 0;
  virtual const char* getBindingName(int32_t bindingIndex) const noexcept = 0;
  virtual bool bindingIsInput(int32_t bindingIndex) const noexcept = 0;
  virtual Dims getBindingDimensions(int32_t bindingIndex) const noexcept = 0;
  virtual DataType getBindingDataType(int32_t bindingIndex) const noexcept = 0;
  virtual int32_t getBindingBytesPerComponent(int32_t bindingIndex) const noexcept = 0;
  virtual int32_t getBindingComponentsPerElement(int32_t bindingIndex) const noexcept = 0;
  virtual TensorFormat getBindingFormat(int32_t bindingIndex) const noexcept = 0;
  virtual int32_t getBindingVectorizedDim(int32_t bindingIndex) const noexcept = 0;
  virtual ~ICudaEngine() = default;
};

class IExecutionContext {
 public:
  virtual const ICudaEngine& getEngine() const noexcept = 0;
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;
  virtual void setDeviceMemory(void* memory) noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual bool setInputTensorAddress(const char* tensorName, const void* data) noexcept = 0;
  virtual bool setOutputTensorAddress(const char* tensorName, void* data) noexcept = 0;
  virtual const void* getInputTensorAddress(const char* tensorName) const noexcept = 0;
  virtual void* getOutputTensorAddress(const char* tensorName) const noexcept = 0;
  virtual Dims getTensorStrides(const char* tensorName) const noexcept = 0;
  virtual Dims getStrides(int32_t bindingIndex) const noexcept = 0;
  virtual bool enqueueV2(void* const* bindings, cudaStream_t stream,
                         cudaEvent_t* inputConsumed) noexcept = 0;
  virtual bool setInputConsumedEvent(cudaEvent_t event) noexcept = 0;
  virtual cudaEvent_t getInputConsumedEvent() const noexcept = 0;
  virtual bool enqueueV3(cudaStream_t stream) noexcept = 0;
  virtual ~IExecutionContext() = default;
};

class IRuntime {
 public:
  virtual ICudaEngine* deserializeCudaEngine(const void* blob, size_t size) noexcept = 0;
  virtual void setGpuAllocator(IGpuAllocator* allocator) noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual ~IRuntime() = default;
};

class IPluginRegistry;

/// Logs an error and returns null.
inline IRuntime* createInferRuntime(ILogger& logger) noexcept {
  logger.log(ILogger::Severity::kERROR,
             "safe::createInferRuntime is not supported: use nvinfer1::createInferRuntime");
  return nullptr;
}

/// Logs an error and returns null.
inline IPluginRegistry* getSafePluginRegistry() noexcept {
  return tenon::unsupported("getSafePluginRegistry is not supported: use getPluginRegistry");
}

}  // namespace safe
}  // namespace nvinfer1

#endif  // NV_INFER_SAFE_RUNTIME_H
