#include "run/device_memory.h"

#include <sys/mman.h>

#include <utility>

#include "base/cuda_stream.h"
#include "base/error.h"

namespace tenon {

namespace {

// What kernels rely on; allocators are asked for more.
bool is_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % 64 == 0;
}
constexpr uint64_t kAskedAlignment = 256;

}  // namespace

void DeviceMemory::take_from(nvinfer1::IGpuAllocator* temporary, Stream* stream) {
  release();
  temporary_ = temporary;
  stream_ = stream;
}

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
  const Block block = {static_cast<std::byte*>(allocate(static_cast<uint64_t>(bytes))), bytes};
  if (block.data == nullptr)
    fail(ErrorCode::kFAILED_ALLOCATION, "out of memory: {} bytes are needed{}", bytes,
         temporary_ != nullptr ? " of the temporary storage allocator" : "");
  if ((temporary_ != nullptr || allocator_ != nullptr) && !device_.reaches(block.data)) {
    free(block);
    fail(ErrorCode::kFAILED_ALLOCATION, "the allocator gave {}, which {}",
         static_cast<void*>(block.data), device_.why_not_reached());
  }
  if (!is_aligned(block.data)) {
    free(block);
    fail(ErrorCode::kFAILED_ALLOCATION,
         "the allocator gave {}, which is not aligned to {} bytes as it was asked to",
         static_cast<void*>(block.data), kAskedAlignment);
  }
  data_ = block.data;
  bytes_ = bytes;
}

// A failure of the stream's work is the run's, which says so.
void DeviceMemory::wait_for_stream() const {
  if (!device_.is_host()) static_cast<void>(device_.synchronize(stream_));
}

// What allocators of streams give is there when the stream comes to it; steps may be in others.
void* DeviceMemory::allocate(uint64_t bytes) {
  if (temporary_ != nullptr || allocator_ != nullptr) {
    void* data = temporary_ != nullptr
                     ? temporary_->allocateAsync(bytes, kAskedAlignment, 0, to_cuda(stream_))
                     : allocator_->allocate(bytes, kAskedAlignment, 0);
    wait_for_stream();
    return data;
  }
  if (!device_.is_host()) return device_.allocate(bytes);
  // Pages are touched, and so become resident, only as far as tensors reach.
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

void DeviceMemory::free(const Block& block) {
  if (temporary_ != nullptr) {
    // Many allocators free at once what they were asked to free later.
    wait_for_stream();
    temporary_->deallocateAsync(block.data, to_cuda(stream_));
  } else if (allocator_ != nullptr)
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
