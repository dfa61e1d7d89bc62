// cuDNN's functions, opened when they are first needed.
#pragma once

#include <cudnn.h>

#include <string>

namespace tenon::cuda::cudnn {

/// What we call of libcudnn.so.9, with its names there.
struct Library {
  decltype(&::cudnnGetVersion) version = nullptr;
  decltype(&::cudnnGetErrorString) error_string = nullptr;
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;
  decltype(&::cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&::cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&::cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;
};

/// Why cuDNN cannot be used: "" when it can.
const std::string& reason_for_no_cudnn();
/// Throws that reason.
const Library& library();

/// Throws Error unless the call succeeded. `what` says what was tried.
void check(cudnnStatus_t status, const char* what);

/// A handle of the current device, borrowed. A handle serves one thread at a time: whoever finds
/// none free makes another, so that nobody waits.
class Handle {
 public:
  Handle();
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator cudnnHandle_t() const { return handle_; }

 private:
  int device_ = 0;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace tenon::cuda::cudnn
