// A fixed number of memories that are used again and again.
#ifndef TENON_SERVE_TENSOR_ALLOCATOR_H
#define TENON_SERVE_TENSOR_ALLOCATOR_H

#include <chrono>
#include <memory>

#include "tenon/serve/tensor.h"

namespace tenon::serve {

class MemoryPool;

/// What 003 calls a monopoly allocator: each memory has one user at a time, and whoever wants one
/// more than there are waits, so that requests cannot use more memory than planned. For all
/// threads. Memories may be given back after the allocator is gone.
class TensorAllocator {
 public:
  /// @param capacity how many there are; at least 1.
  explicit TensorAllocator(int capacity, int device = kCurrentDevice);
  /// Whoever waits gets an error.
  ~TensorAllocator();
  TensorAllocator(const TensorAllocator&) = delete;
  TensorAllocator& operator=(const TensorAllocator&) = delete;

  /// A memory, which comes back when the last reference to it is gone; what it held before is
  /// still in it. An error when none came back in time.
  Result<std::shared_ptr<MixMemory>> query(
      std::chrono::milliseconds timeout = std::chrono::seconds(10)) noexcept;
  /// A tensor without data in such a memory.
  Result<Tensor> query(Shape shape, DataType type,
                       std::chrono::milliseconds timeout = std::chrono::seconds(10)) noexcept;

  int capacity() const;
  int num_available() const;

 private:
  std::shared_ptr<MemoryPool> pool_;
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_TENSOR_ALLOCATOR_H
