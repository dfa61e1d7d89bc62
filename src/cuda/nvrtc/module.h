// Machine code, loaded into the process and ready to be launched.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "base/tensor.h"

namespace tenon::cuda {

/// "sm_90" for the current device of the calling thread.
std::string device_architecture();

/// A cubin that the driver has taken in. Immutable and thread-safe; fits every device of its
/// architecture.
class Module {
 public:
  /// The same module for equal bytes, as long as one is in use. Throws when the driver refuses it.
  static std::shared_ptr<const Module> load(const Tensor& cubin);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// A kernel to launch; loaded on the current device, so that its first launch may be captured
  /// into a graph. Throws when there is none of that name.
  const void* kernel(const char* name) const;

 private:
  explicit Module(const Tensor& cubin);
  cudaLibrary_t library_ = nullptr;
};

/// Puts a launch of `blocks` (at least 1) blocks into the stream. `arguments` are addresses of the
/// kernel's parameters.
void launch(const void* kernel, dim3 blocks, unsigned threads, void** arguments,
            cudaStream_t stream);

}  // namespace tenon::cuda
