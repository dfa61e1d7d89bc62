#include "tenon/serve/tensor_allocator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "guard.h"
#include "memory_pool.h"

namespace tenon::serve {

TensorAllocator::TensorAllocator(int capacity, int device)
    : pool_(std::make_shared<MemoryPool>(device, static_cast<size_t>(std::max(capacity, 1)))) {}

TensorAllocator::~TensorAllocator() {
  pool_->close();
}

Result<std::shared_ptr<MixMemory>> TensorAllocator::query(
    std::chrono::milliseconds timeout) noexcept {
  return session::guard([&] {
    const std::shared_ptr<MemoryPool> pool = pool_;  // this may be gone after the wait
    timeout = std::clamp<std::chrono::milliseconds>(timeout, std::chrono::milliseconds(0),
                                                    std::chrono::hours(24 * 365));
    auto memory = pool->take(timeout);
    if (memory == nullptr && pool->is_closed()) throw Error{"the tensor allocator is gone"};
    if (memory == nullptr)
      throw Error{"all " + std::to_string(pool->capacity())
                  + " tensors are in use, and none came back within "
                  + std::to_string(timeout.count()) + " ms"};
    return memory;
  });
}

Result<Tensor> TensorAllocator::query(Shape shape, DataType type,
                                      std::chrono::milliseconds timeout) noexcept {
  return session::guard(
      [&] { return Tensor(std::move(shape), type, session::value_of(query(timeout))); });
}

int TensorAllocator::capacity() const {
  return static_cast<int>(pool_->capacity());
}

int TensorAllocator::num_available() const {
  return static_cast<int>(pool_->num_available());
}

}  // namespace tenon::serve
