// Memory of tensors that come again and again.
#pragma once

#include <memory>
#include <vector>

#include "base/tensor.h"
#include "base/tensor_memory.h"

namespace tenon {

/// Makes tensors in memory that earlier ones no longer use. For one place in a program, where sizes
/// are alike: memory that is too small is taken anew. Used by one thread at a time.
class TensorPool {
 public:
  /// In that memory, which must outlive it.
  explicit TensorPool(TensorMemory& memory = host_memory()) : memory_(&memory) {}
  /// Uninitialised. Throws Error(kFAILED_ALLOCATION) when there is no memory.
  Tensor make(DataType type, const Shape& shape);
  /// Memory alone, at least 64-byte aligned; in use as long as a copy of the pointer lives.
  std::shared_ptr<std::byte> take(size_t bytes);
  /// Bytes held, in use or not.
  size_t bytes() const;

 private:
  struct Buffer {
    std::shared_ptr<std::byte> memory;
    size_t bytes = 0;
  };
  Buffer& free_buffer();

  TensorMemory* memory_;
  std::vector<Buffer> buffers_;
  size_t next_ = 0;  // those used longest ago come first, and so are likely to be free
};

}  // namespace tenon
