// Outputs whose memory is found while the engine runs, since only the run may tell their shape.
#ifndef TENON_SESSION_OUTPUT_H
#define TENON_SESSION_OUTPUT_H

#include <NvInferRuntime.h>

#include "tenon/session/memory.h"

namespace tenon::session {

/// Gives an output memory: what the caller says, or its own, and takes its shape.
class Output : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char* name, void* memory, uint64_t size, uint64_t alignment,
                              cudaStream_t stream) noexcept final;
  void notifyShape(const char*, const nvinfer1::Dims& shape) noexcept final { shape_ = shape; }

  /// The next run writes to these bytes, and fails if it needs another number of them.
  void use(void* data, size_t bytes);
  /// The next run writes to memory of its own.
  void use_own();
  /// What the last run said; -1 dimensions if it did not come to that.
  const nvinfer1::Dims& shape() const { return shape_; }

 protected:
  /// At least so many bytes of the output's own memory; null if there are none.
  virtual void* own_memory(size_t bytes, size_t alignment) noexcept = 0;

 private:
  bool is_given_ = false;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  nvinfer1::Dims shape_{-1, {}};
};

/// An output in memory that its engine reaches, which later runs use again.
class GrowingOutput final : public Output {
 public:
  explicit GrowingOutput(Memory memory) : memory_(std::move(memory)) {}
  /// Where the last run put it.
  const void* data() const { return memory_.data(); }

 private:
  void* own_memory(size_t bytes, size_t) noexcept override {
    return memory_.reserve(bytes) == cudaSuccess ? memory_.data() : nullptr;
  }
  Memory memory_;
};

}  // namespace tenon::session

#endif  // TENON_SESSION_OUTPUT_H
