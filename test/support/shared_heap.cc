// On a GPU the heap of a test program is pinned memory, which the GPU sees at the same addresses.
// So tests that give an engine the addresses of their vectors run there unchanged. Whether the
// engine tells its own host memory from the device's is for tests with device memory of their own.
#include <cuda_runtime_api.h>
#include <tenon/cudart/engine.h>

#include <atomic>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <optional>

namespace {

constexpr size_t kBytes = size_t{128} << 20;
constexpr size_t kHeader = 16;  // holds the size, and keeps the alignment

class SharedHeap {
 public:
  SharedHeap() {
    if (!tenon::cudart::on_gpu()) return;
    void* data = nullptr;
    if (cudaHostAlloc(&data, kBytes, cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess)
      std::abort();
    begin_ = static_cast<std::byte*>(data);
    arena_.emplace(data, kBytes, std::pmr::null_memory_resource());
    pool_.emplace(&*arena_);
  }
  // Null when there is none left.
  void* allocate(size_t bytes) {
    if (begin_ == nullptr) return nullptr;
    try {
      auto* data = static_cast<std::byte*>(pool_->allocate(bytes + kHeader, kHeader));
      *reinterpret_cast<size_t*>(data) = bytes;
      return data + kHeader;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  bool owns(const void* data) const {
    return begin_ != nullptr && data >= begin_ && data < begin_ + kBytes;
  }
  void release(void* data) {
    auto* start = static_cast<std::byte*>(data) - kHeader;
    pool_->deallocate(start, *reinterpret_cast<size_t*>(start) + kHeader, kHeader);
  }

 private:
  std::byte* begin_ = nullptr;
  std::optional<std::pmr::monotonic_buffer_resource> arena_;
  std::optional<std::pmr::synchronized_pool_resource> pool_;
};

// What the heap itself needs comes from the host's.
thread_local bool is_inside = false;

// Null while the first caller makes it, so that nobody waits for threads of the driver. Never
// destroyed: others free memory until the end.
SharedHeap* heap() {
  static std::atomic<SharedHeap*> ready{nullptr};
  static std::atomic_flag begun;
  if (!begun.test_and_set()) ready = new (std::malloc(sizeof(SharedHeap))) SharedHeap;
  return ready;
}

}  // namespace

void* operator new(size_t bytes) {
  void* data = nullptr;
  if (!is_inside) {
    is_inside = true;
    if (SharedHeap* shared = heap()) data = shared->allocate(bytes);
    is_inside = false;
  }
  if (data == nullptr) data = std::malloc(bytes > 0 ? bytes : 1);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

void operator delete(void* data) noexcept {
  if (data == nullptr) return;
  SharedHeap* shared = heap();
  if (is_inside || shared == nullptr || !shared->owns(data)) return std::free(data);
  is_inside = true;
  shared->release(data);
  is_inside = false;
}

void operator delete(void* data, size_t) noexcept {
  operator delete(data);
}
