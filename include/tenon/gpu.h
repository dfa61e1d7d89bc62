// Where an engine runs.
#ifndef TENON_GPU_H
#define TENON_GPU_H

#include "NvInferRuntime.h"
#include "tenon/extensions.h"

/// What the function below calls.
TENON_EXTENSION int32_t tenonGpuOfEngine(const nvinfer1::ICudaEngine* engine) noexcept;

namespace tenon {

/// The number of the GPU that `engine` runs on; -1 if it runs on the CPU, or is not Tenon's.
inline int32_t gpu_of(const nvinfer1::ICudaEngine& engine) noexcept {
  return tenonGpuOfEngine != nullptr ? tenonGpuOfEngine(&engine) : -1;
}

}  // namespace tenon

#endif  // TENON_GPU_H
