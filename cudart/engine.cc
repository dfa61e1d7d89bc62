/// The engine's own entries. What they call by CUDA's names is forwarded to where the process runs.
#include <tenon/cudart/engine.h>

#include "cudart/gpu.h"
#include "cudart/runtime.h"

namespace tenon::cudart {

cudaError_t enqueue(cudaStream_t stream, void (*run)(void*), void* data,
                    void (*release)(void*)) noexcept {
  if (on_gpu()) return launch_on_gpu(stream, run, data, release);
  return api([&](Runtime&) {
    if (!run) return cudaErrorInvalidValue;
    Place place;
    if (const cudaError_t error = find_place(stream, place)) return error;
    return dispatch(place, Task{run, data, release, true});
  });
}

void report_failure(cudaError_t error) noexcept {
  Stream* stream = thread_context().inline_stream;
  if (stream && error != cudaSuccess) stream->fail(error);
}

cudaError_t keep_error(cudaError_t error) noexcept {
  return on_gpu() ? error : note(error);
}

bool is_capturing(cudaStream_t stream) noexcept {
  if (on_gpu()) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !cudaStreamIsCapturing(stream, &status) && status != cudaStreamCaptureStatusNone;
  }
  Place place;
  const cudaError_t error = api([&](Runtime&) { return find_place(stream, place); });
  return !error && !place.in_place && place.stream->capture.load();
}

InPlace::InPlace(cudaStream_t stream) noexcept : previous_(thread_context().inline_stream) {
  if (on_gpu()) return;
  Place place;
  if (!api([&](Runtime&) { return find_place(stream, place); })) {
    thread_context().inline_stream = place.stream;
  }
}

InPlace::~InPlace() {
  thread_context().inline_stream = static_cast<Stream*>(previous_);
}

}  // namespace tenon::cudart
