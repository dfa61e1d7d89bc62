// Where messages, layer times and debug tensors go.
#ifndef TENON_API_LOGGING_H
#define TENON_API_LOGGING_H

#include "tenon/api/memory.h"

namespace nvinfer1 {

class ILogger {
 public:
  enum class Severity : int32_t {
    kINTERNAL_ERROR = 0,
    kERROR = 1,
    kWARNING = 2,
    kINFO = 3,
    kVERBOSE = 4,
  };
  virtual void log(Severity severity, const AsciiChar* message) noexcept = 0;
  virtual ~ILogger() noexcept = default;
};

template <>
struct impl::EnumMaxImpl<ILogger::Severity> {
  static constexpr int32_t kVALUE = 5;
};

class ILoggerFinder {
 public:
  virtual ILogger* findLogger() = 0;

 protected:
  virtual ~ILoggerFinder() noexcept = default;
};

namespace v_1_0 {
class IProfiler {
 public:
  virtual void reportLayerTime(const char* layerName, float milliseconds) noexcept = 0;
  virtual ~IProfiler() noexcept = default;
};
}  // namespace v_1_0

namespace v_1_0 {
class IDebugListener : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IDebugListener", 1, 0}; }
  virtual bool processDebugTensor(const void* address, TensorLocation location, DataType type,
                                  const Dims& shape, const char* name, cudaStream_t stream) = 0;
  ~IDebugListener() noexcept override = default;
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_LOGGING_H
