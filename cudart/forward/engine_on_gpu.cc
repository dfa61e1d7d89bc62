/// The engine's work as host functions of NVIDIA's streams.
#include <new>

#include "cudart/gpu.h"

// Not in the public header: programs on host memory cannot use them.
extern "C" {
cudaError_t cudaUserObjectCreate(void** object, void* data, cudaHostFn_t destroy,
                                 unsigned references, unsigned flags);
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, void* object, unsigned references,
                                      unsigned flags);
}

namespace tenon::cudart {
namespace {

constexpr unsigned kDestructorIsNotWaitedFor = 1;  // cudaUserObjectNoDestructorSync
constexpr unsigned kMoveReferences = 1;            // cudaGraphUserObjectMove

struct Call {
  void (*run)(void*);
  void* data;
  void (*release)(void*);
};

void run(void* call) {
  const auto* self = static_cast<const Call*>(call);
  try {
    self->run(self->data);
  } catch (...) {
    // CUDA has no way for a host function to fail, and the engine's own functions report.
  }
}

void release(void* call) {
  const auto* self = static_cast<const Call*>(call);
  if (self->release) self->release(self->data);
  delete self;
}

void run_and_release(void* call) {
  run(call);
  release(call);
}

/// The graph that a stream records into, or null.
cudaGraph_t graph_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  const cudaError_t error =
      cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr);
  return !error && status == cudaStreamCaptureStatusActive ? graph : nullptr;
}

}  // namespace

cudaError_t launch_on_gpu(cudaStream_t stream, void (*function)(void*), void* data,
                          void (*release_data)(void*)) noexcept {
  if (!function) return cudaErrorInvalidValue;
  auto* const call = new (std::nothrow) Call{function, data, release_data};
  if (!call) return cudaErrorMemoryAllocation;
  const cudaGraph_t graph = graph_of(stream);
  if (const cudaError_t error = cudaLaunchHostFunc(stream, graph ? run : run_and_release, call)) {
    delete call;
    return error;
  }
  // A graph may run often: it releases when it goes. If it cannot be told, nobody releases.
  void* object = nullptr;
  if (graph && !cudaUserObjectCreate(&object, call, release, 1, kDestructorIsNotWaitedFor))
    cudaGraphRetainUserObject(graph, object, 1, kMoveReferences);
  return cudaSuccess;
}

}  // namespace tenon::cudart
