// Stand-in for the plan checker of TensorRT 8.x, which is not supported.
#ifndef NV_INFER_CONSISTENCY_H
#define NV_INFER_CONSISTENCY_H

#include "NvInferRuntime.h"
#include "tenon/compat8/unsupported.h"

namespace nvinfer1 {
namespace consistency {

class IConsistencyChecker {
 public:
  virtual bool validate() const noexcept = 0;
  virtual ~IConsistencyChecker() = default;
};

class IPluginChecker : public IPluginCreator {
 public:
  virtual bool validate(const char* name, const void* serialData, size_t serialLength,
                        const PluginTensorDesc* inputs, size_t nbInputs,
                        const PluginTensorDesc* outputs, size_t nbOutputs,
                        int64_t workspaceSize) const noexcept = 0;
};

/// Logs an error and returns null.
inline IConsistencyChecker* createConsistencyChecker(ILogger&, const IHostMemory*) noexcept {
  return tenon::unsupported(
      "createConsistencyChecker is not supported: deserializeCudaEngine verifies every plan");
}

}  // namespace consistency
}  // namespace nvinfer1

#endif  // NV_INFER_CONSISTENCY_H
