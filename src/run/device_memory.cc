#include "run/device_memory.h"

#include <sys/mman.h>

#include "base/error.h"

namespace tenon {

void DeviceMemory::borrow(void* data, int64_t bytes) {
  require(reinterpret_cast<uintptr_t>(data) % 64 == 0,
          "the device memory at {} is not aligned to 64 bytes", data);
  release();
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
  borrowed_ = true;
}

void DeviceMemory::reserve(int64_t bytes) {
  if (bytes <= bytes_) return;
  require(!borrowed_, "the context needs {} bytes of device memory; it was given {}", bytes,
          bytes_);
  release();
  void* data = nullptr;
  if (allocator_ != nullptr) {
    data = allocator_->allocate(static_cast<uint64_t>(bytes), 256, 0);
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

void DeviceMemory::release() {
  if (data_ != nullptr && !borrowed_) {
    if (allocator_ != nullptr)
      allocator_->deallocate(data_);
    else
      ::munmap(data_, static_cast<size_t>(bytes_));
  }
  data_ = nullptr;
  bytes_ = 0;
  borrowed_ = false;
}

}  // namespace tenon
