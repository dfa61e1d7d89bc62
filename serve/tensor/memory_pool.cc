#include "memory_pool.h"

#include <utility>

namespace tenon::serve {

std::unique_ptr<MixMemory> MemoryPool::take_free(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [&] { return is_closed_ || !free_.empty() || made_ < capacity_; };
  if (!came_back_.wait_for(lock, timeout, is_ready) || is_closed_) return nullptr;
  if (free_.empty()) {
    free_.reserve(made_ + 1);  // so that to give back needs no memory
    auto memory = std::make_unique<MixMemory>(device_);
    ++made_;
    return memory;
  }
  auto memory = std::move(free_.back());
  free_.pop_back();
  return memory;
}

std::shared_ptr<MixMemory> MemoryPool::take(std::chrono::milliseconds timeout) {
  std::unique_ptr<MixMemory> memory = take_free(timeout);
  if (memory == nullptr) return nullptr;
  // If there is no memory for the reference, it gives back what it was to refer to.
  return {memory.release(),
          [pool = shared_from_this()](MixMemory* used) { pool->give_back(used); }};
}

void MemoryPool::give_back(MixMemory* memory) {
  const std::scoped_lock lock(mutex_);
  free_.emplace_back(memory);
  came_back_.notify_one();
}

void MemoryPool::close() {
  const std::scoped_lock lock(mutex_);
  is_closed_ = true;
  came_back_.notify_all();
}

bool MemoryPool::is_closed() const {
  const std::scoped_lock lock(mutex_);
  return is_closed_;
}

size_t MemoryPool::num_available() const {
  const std::scoped_lock lock(mutex_);
  return capacity_ - made_ + free_.size();
}

}  // namespace tenon::serve
