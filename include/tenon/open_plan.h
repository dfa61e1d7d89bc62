// Opening a plan file in place, instead of reading it whole first.
#ifndef TENON_OPEN_PLAN_H
#define TENON_OPEN_PLAN_H

#include <memory>

#include "NvInferRuntime.h"
#include "tenon/extensions.h"

/// What tenon::open_plan() calls; null pointers and failures give null.
TENON_EXTENSION nvinfer1::ICudaEngine* tenonOpenPlan(nvinfer1::IRuntime* runtime,
                                                     const char* path) noexcept;

namespace tenon {

/// The engine of the plan file at `path`, with the runtime's logger, error recorder and allocator.
/// The file is mapped: weights are read when they are first used, and the file must not be written
/// to while the engine exists (replacing it by renaming another one over it is fine). Null, after
/// an error to the logger, when the file cannot be read or is not an intact plan; null without one
/// when the library behind `runtime` is not Tenon.
inline std::unique_ptr<nvinfer1::ICudaEngine> open_plan(nvinfer1::IRuntime& runtime,
                                                        const char* path) noexcept {
  return std::unique_ptr<nvinfer1::ICudaEngine>(
      tenonOpenPlan != nullptr ? tenonOpenPlan(&runtime, path) : nullptr);
}

}  // namespace tenon

#endif  // TENON_OPEN_PLAN_H
