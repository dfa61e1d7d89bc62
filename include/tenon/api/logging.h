// Where messages, layer times and debug tensors go.
#ifndef TENON_API_LOGGING_H
#define TENON_API_LOGGING_H

#include "tenon/api/memory.h"

namespace nvinfer1 {

/// Receives messages; the application implements it. Called from several threads, it outlives every
/// object made with it and must not throw.
class ILogger {
 public:
  enum class Severity : int32_t {
    kINTERNAL_ERROR = 0,  ///< The library cannot go on.
    kERROR = 1,           ///< The call fails.
    kWARNING = 2,         ///< The call goes on, but perhaps not as wished.
    kINFO = 3,            ///< What is being done.
    kVERBOSE = 4,         ///< Details for finding errors.
  };

  /// Takes one message, null-terminated and valid during the call only.
  virtual void log(Severity severity, const AsciiChar* message) noexcept = 0;
  virtual ~ILogger() noexcept = default;
};

template <> struct impl::EnumMaxImpl<ILogger::Severity> {
  static constexpr int32_t kVALUE = 5;
};

/// Finds the logger of the process for plugin libraries that are told to ask for it.
class ILoggerFinder {
 public:
  /// The logger; null if there is none.
  virtual ILogger* findLogger() = 0;

 protected:
  virtual ~ILoggerFinder() noexcept = default;
};

namespace v_1_0 {
/// Receives the time of each layer after a run; the application implements it.
class IProfiler {
 public:
  /// Takes the time that one layer took, in milliseconds. Called once per layer, in order.
  virtual void reportLayerTime(const char* layerName, float milliseconds) noexcept = 0;
  virtual ~IProfiler() noexcept = default;
};

/// Receives tensors marked for debugging; the application implements it.
class IDebugListener : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IDebugListener", 1, 0}; }

  /// Takes one tensor, valid during the call and only on `stream`; false if it could not be
  /// processed.
  virtual bool processDebugTensor(const void* address, TensorLocation location, DataType type,
                                  const Dims& shape, const char* name, cudaStream_t stream) = 0;
  ~IDebugListener() noexcept override = default;
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_LOGGING_H
