#include "base/tensor_memory.h"

#include <cstring>

#include "base/tensor.h"

namespace tenon {
namespace {

void copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);  // which takes no null pointers
}

class HostMemory final : public TensorMemory {
 public:
  std::shared_ptr<std::byte> allocate(size_t bytes) override { return allocate_aligned(bytes); }
  void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                 size_t rows) override {
    for (size_t i = 0; i < rows; ++i)
      copy(static_cast<std::byte*>(to) + i * to_step,
           static_cast<const std::byte*>(from) + i * from_step, bytes);
  }
  void clear(void* data, size_t bytes) override {
    if (bytes > 0) std::memset(data, 0, bytes);
  }
  void read(void* to, const void* from, size_t bytes) override { copy(to, from, bytes); }
  void write(void* to, const void* from, size_t bytes) override { copy(to, from, bytes); }
};

}  // namespace

TensorMemory& host_memory() {
  static auto& memory = *new HostMemory;  // never destroyed
  return memory;
}

}  // namespace tenon
