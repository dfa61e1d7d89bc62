// A device's streams and events as CUDA names them: for CUDA's runtime, and for TensorRT's callers,
// plugins and allocators.
#pragma once

#include <cuda_runtime_api.h>

#include "base/stream.h"

namespace tenon {

inline cudaStream_t to_cuda(Stream* stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}
inline cudaEvent_t to_cuda(Event* event) {
  return reinterpret_cast<cudaEvent_t>(event);
}
inline Stream* from_cuda(cudaStream_t stream) {
  return reinterpret_cast<Stream*>(stream);
}
inline Event* from_cuda(cudaEvent_t event) {
  return reinterpret_cast<Event*>(event);
}

}  // namespace tenon
