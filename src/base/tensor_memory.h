// Where tensors lie that are made while a network runs, and how they get there: the host's memory,
// or a device's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tenon {

/// Used by one thread at a time. What is asked for happens in its order.
class TensorMemory {
 public:
  virtual ~TensorMemory() = default;
  /// At least 64-byte aligned; in use as long as a copy of the pointer lives. Throws
  /// Error(kFAILED_ALLOCATION) when there is none.
  virtual std::shared_ptr<std::byte> allocate(size_t bytes) = 0;
  /// Rows of `bytes` each, which begin so many bytes after one another; all in this memory.
  virtual void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                         size_t rows) = 0;
  /// Zeros.
  virtual void clear(void* data, size_t bytes) = 0;
  /// Into the host's memory; returns when it is there.
  virtual void read(void* to, const void* from, size_t bytes) = 0;
  /// From the host's memory, which may change at once.
  virtual void write(void* to, const void* from, size_t bytes) = 0;
};

/// The host's own.
TensorMemory& host_memory();

}  // namespace tenon
