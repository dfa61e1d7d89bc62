#include "base/tensor_pool.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

TensorPool::Buffer& TensorPool::free_buffer() {
  // A few that are kept longer than others are passed by.
  constexpr size_t kLooks = 4;
  for (size_t look = 0; look < std::min(kLooks, buffers_.size()); ++look) {
    if (next_ >= buffers_.size()) next_ = 0;
    Buffer& buffer = buffers_[next_++];
    if (buffer.memory.use_count() <= 1) return buffer;
  }
  return buffers_.emplace_back();
}

std::shared_ptr<std::byte> TensorPool::take(size_t bytes) {
  Buffer& buffer = free_buffer();
  if (buffer.memory == nullptr || buffer.bytes < bytes) {
    buffer = {};  // before the new one is taken
    buffer = {memory_->allocate(bytes), bytes};
  }
  return buffer.memory;
}

Tensor TensorPool::make(DataType type, const Shape& shape) {
  const int64_t count = shape.volume();
  require(count <= INT64_MAX / 8, "a tensor of shape {} is too large", shape);
  auto memory = take(bytes_of(type, count));
  const void* data = memory.get();
  return Tensor(type, shape, std::move(memory), data);
}

size_t TensorPool::bytes() const {
  size_t all = 0;
  for (const Buffer& buffer : buffers_) all += buffer.bytes;
  return all;
}

}  // namespace tenon
