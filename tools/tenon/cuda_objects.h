// Streams, events and graphs of CUDA's runtime, each with one owner.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "error.h"

namespace tenon::tool {

/// Throws a Failure unless a call of CUDA's runtime succeeded.
inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess) fail(ErrorClass::kCuda, "{}: {}", what, cudaGetErrorString(status));
}

class Event {
 public:
  /// @param flags as cudaEventCreateWithFlags() takes them.
  explicit Event(unsigned flags = cudaEventDefault) {
    check_cuda(cudaEventCreateWithFlags(&event_, flags), "cannot make an event");
  }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  void record(cudaStream_t stream) {
    check_cuda(cudaEventRecord(event_, stream), "cannot record an event");
  }
  /// Work that comes into the stream later waits for what was recorded.
  void hold(cudaStream_t stream) const {
    check_cuda(cudaStreamWaitEvent(stream, event_, 0), "cannot wait for an event");
  }
  cudaError_t wait() const { return cudaEventSynchronize(event_); }
  /// Milliseconds from an earlier event to this. Both have happened.
  double since(const Event& earlier) const {
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, earlier.event_, event_), "cannot read an event's time");
    return static_cast<double>(ms);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  Stream() { check_cuda(cudaStreamCreate(&stream_), "cannot make a stream"); }
  ~Stream() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace tenon::tool
