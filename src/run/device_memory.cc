#include "run/device_memory.h"

#include <sys/mman.h>

#include <utility>

#include "base/error.h"

namespace tenon {

namespace {

// What kernels rely on; allocators are asked for more.
bool is_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % 64 == 0;
}
constexpr uint64_t kAskedAlignment = 256;

}  // namespace

void DeviceMemory::borrow(void* data, int64_t bytes) {
  require(is_aligned(data), "the device memory at {} is not aligned to 64 bytes", data);
  release();
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
  borrowed_ = true;
}

void DeviceMemory::reserve(int64_t bytes, bool keep) {
  if (bytes <= bytes_) return;
  require(!borrowed_, "the context needs {} bytes of device memory; it was given {}", bytes,
          bytes_);
  const Block before = {std::exchange(data_, nullptr), std::exchange(bytes_, 0)};
  if (before.data != nullptr && keep)
    kept_.push_back(before);
  else if (before.data != nullptr)
    free(before);
  void* data = nullptr;
  if (allocator_ != nullptr) {
    data = allocator_->allocate(static_cast<uint64_t>(bytes), kAskedAlignment, 0);
    if (!is_aligned(data)) {
      allocator_->deallocate(data);
      fail(ErrorCode::kFAILED_ALLOCATION,
           "the allocator gave {}, which is not aligned to {} bytes as it was asked to", data,
           kAskedAlignment);
    }
    // What an IGpuAsyncAllocator gives is there when the stream comes to it.
    if (!device_.is_host()) device_.copy_out(nullptr, nullptr, 0, nullptr);
  } else if (!device_.is_host()) {
    data = device_.allocate(static_cast<size_t>(bytes));
  } else {
    // Pages are touched, and so become resident, only as far as tensors reach.
    data = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) data = nullptr;
  }
  if (data == nullptr)
    fail(ErrorCode::kFAILED_ALLOCATION, "out of memory: the context needs {} bytes", bytes);
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
}

void DeviceMemory::free(const Block& block) {
  if (allocator_ != nullptr)
    allocator_->deallocate(block.data);
  else if (!device_.is_host())
    device_.release(block.data);
  else
    ::munmap(block.data, static_cast<size_t>(block.bytes));
}

void DeviceMemory::release() {
  if (data_ != nullptr && !borrowed_) free({data_, bytes_});
  for (const Block& block : kept_) free(block);
  kept_.clear();
  data_ = nullptr;
  bytes_ = 0;
  borrowed_ = false;
}

}  // namespace tenon
