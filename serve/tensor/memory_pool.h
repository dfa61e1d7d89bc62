// Memories that are used again when nobody looks at them any more.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "tenon/serve/mix_memory.h"

namespace tenon::serve {

/// For all threads. Made by std::make_shared: memories that come back refer to it.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  /// @param capacity how many memories there are at most; each is made when it is first wanted.
  explicit MemoryPool(int device, size_t capacity = SIZE_MAX)
      : capacity_(capacity), device_(MixMemory(device).device_id()) {}

  /// A memory that comes back when the last reference to it is gone, with what it held before. Null
  /// when all are taken and none comes back in time, and once it is closed.
  std::shared_ptr<MixMemory> take(std::chrono::milliseconds timeout = {});
  /// Whoever waits gets nothing.
  void close();
  bool is_closed() const;
  size_t capacity() const { return capacity_; }
  /// How many could be taken at once.
  size_t num_available() const;

 private:
  std::unique_ptr<MixMemory> take_free(std::chrono::milliseconds timeout);
  void give_back(MixMemory* memory);

  const size_t capacity_;
  const int device_;
  mutable std::mutex mutex_;
  std::condition_variable came_back_;
  std::vector<std::unique_ptr<MixMemory>> free_;  // has room for all that were made
  size_t made_ = 0;
  bool is_closed_ = false;
};

}  // namespace tenon::serve
