#include "base/memory_cache.h"

#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "base/tensor.h"

namespace tenon {
namespace {

thread_local MemoryCache* current_cache = nullptr;

}  // namespace

// Outlives the cache as long as some of its memory is in use.
struct MemoryCache::Unused {
  std::mutex mutex;
  std::multimap<size_t, std::shared_ptr<std::byte>> by_size;
  size_t bytes = 0;
  bool is_closed = false;

  std::shared_ptr<std::byte> take(size_t size) {
    const std::lock_guard lock(mutex);
    const auto found = by_size.find(size);
    if (found == by_size.end()) return nullptr;
    bytes -= size;
    return std::move(by_size.extract(found).mapped());
  }

  // Called by the last user, whoever that is: what cannot be noted is freed.
  void give(size_t size, std::shared_ptr<std::byte> memory) noexcept {
    const std::lock_guard lock(mutex);
    if (is_closed) return;
    try {
      by_size.emplace(size, std::move(memory));
      bytes += size;
    } catch (const std::bad_alloc&) {}
  }

  void close() {
    const std::lock_guard lock(mutex);
    is_closed = true;
    by_size.clear();
    bytes = 0;
  }
};

MemoryCache::MemoryCache() : unused_(std::make_shared<Unused>()) {}

MemoryCache::~MemoryCache() {
  unused_->close();
}

std::shared_ptr<std::byte> MemoryCache::take(size_t bytes) {
  std::shared_ptr<std::byte> memory = unused_->take(bytes);
  if (memory == nullptr) memory = allocate_uncached(bytes);
  std::byte* const at = memory.get();
  return {at, [bytes, unused = unused_, memory = std::move(memory)](std::byte*) mutable {
            unused->give(bytes, std::move(memory));
          }};
}

size_t MemoryCache::unused_bytes() const {
  const std::lock_guard lock(unused_->mutex);
  return unused_->bytes;
}

MemoryCache::Scope::Scope(MemoryCache& cache) : before_(std::exchange(current_cache, &cache)) {}

MemoryCache::Scope::~Scope() {
  current_cache = before_;
}

MemoryCache* MemoryCache::current() {
  return current_cache;
}

}  // namespace tenon
