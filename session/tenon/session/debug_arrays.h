// Debug tensors of a run, as arrays of the host.
#ifndef TENON_SESSION_DEBUG_ARRAYS_H
#define TENON_SESSION_DEBUG_ARRAYS_H

#include <NvInferRuntime.h>

#include <functional>
#include <string>

#include "tenon/session/array.h"
#include "tenon/session/result.h"

namespace tenon::session {

/// A listener that copies each debug tensor and hands it over while the run goes on.
class DebugArrays final : public nvinfer1::IDebugListener {
 public:
  /// Called for each tensor, in the order in which the run makes them; an error ends the run.
  using Take = std::function<Result<void>(const std::string& name, Array array)>;

  explicit DebugArrays(Take take) : take_(std::move(take)) {}

  bool processDebugTensor(const void* address, nvinfer1::TensorLocation location,
                          nvinfer1::DataType type, const nvinfer1::Dims& shape, const char* name,
                          cudaStream_t stream) override;

  /// Why a run that failed was ended by this; empty if it was not.
  const std::string& failure() const { return failure_; }

 private:
  Take take_;
  std::string failure_;
};

}  // namespace tenon::session

#endif  // TENON_SESSION_DEBUG_ARRAYS_H
