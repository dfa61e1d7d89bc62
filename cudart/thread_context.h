/// What the runtime remembers for each thread.
#pragma once

#include <cuda_runtime_api.h>

namespace tenon::cudart {

class Stream;

struct ThreadContext {
  cudaError_t last_error = cudaSuccess;
  /// The stream whose work this thread is doing: what is put into it runs at once, in place.
  Stream* inline_stream = nullptr;
  /// Inside an application's host function, which must not call the runtime.
  bool in_host_function = false;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
};

ThreadContext& thread_context();

/// Marks the calling thread as doing a stream's work for the life of this object.
class EnterTask {
 public:
  EnterTask(Stream& stream, bool may_call_runtime) : saved_(thread_context()) {
    thread_context().inline_stream = &stream;
    thread_context().in_host_function = !may_call_runtime;
  }
  ~EnterTask() {
    thread_context().inline_stream = saved_.inline_stream;
    thread_context().in_host_function = saved_.in_host_function;
  }
  EnterTask(const EnterTask&) = delete;
  EnterTask& operator=(const EnterTask&) = delete;

 private:
  const ThreadContext saved_;
};

}  // namespace tenon::cudart
