// Memory for an engine's inputs and outputs.
#ifndef TENON_SESSION_MEMORY_H
#define TENON_SESSION_MEMORY_H

#include <NvInferRuntime.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

namespace tenon::session {

/// Whether the engine computes on the CPU; never so with another library than Tenon.
bool runs_on_cpu(const nvinfer1::ICudaEngine& engine);

/// Memory that CUDA's copies and the engine both reach: a GPU's own or, for an engine on the CPU,
/// pinned memory of the host, since the machine may have a GPU all the same; or managed memory,
/// which host and GPU both reach. It grows as needed.
class Memory {
 public:
  enum class Kind { kDevice, kPinned, kManaged };

  explicit Memory(Kind kind) : kind_(kind) {}
  /// Of the kind that the engine's tensors lie in.
  explicit Memory(const nvinfer1::ICudaEngine& engine)
      : Memory(runs_on_cpu(engine) ? Kind::kPinned : Kind::kDevice) {}
  ~Memory() { release(); }
  Memory(Memory&& other) noexcept
      : kind_(other.kind_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&&) = delete;

  /// At least so many bytes, and at least one; what was there before may be lost. There are none
  /// after an error, which CUDA then does not report again.
  cudaError_t reserve(size_t bytes) noexcept;
  /// Null before reserve().
  void* data() const { return data_; }

 private:
  void release() noexcept;

  Kind kind_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tenon::session

#endif  // TENON_SESSION_MEMORY_H
