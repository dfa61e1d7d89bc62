// Memory of the device that an engine's weights or a context's tensors live in: our own, the
// caller's, or that of the caller's allocator.
#pragma once

#include <NvInferRuntime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/device.h"

namespace tenon {

class DeviceMemory {
 public:
  DeviceMemory(const Device& device, nvinfer1::IGpuAllocator* allocator)
      : device_(device), allocator_(allocator) {}
  ~DeviceMemory() { release(); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// From now on memory is another allocator's, which gives and takes it in the order of a stream;
  /// null: the usual one's. There is none at first.
  void take_from(nvinfer1::IGpuAllocator* temporary, Stream* stream);
  /// Uses the caller's memory from now on; not owned.
  void borrow(void* data, int64_t bytes);
  /// At least `bytes`, 64-byte aligned. Grows our own memory; throws when the caller's is too small
  /// or there is none to be had. What was there is lost.
  /// @param keep the memory so far stays until release(): CUDA graphs may hold its address
  void reserve(int64_t bytes, bool keep = false);
  /// None from now on.
  void release();
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  struct Block {
    std::byte* data = nullptr;
    int64_t bytes = 0;
  };
  void wait_for_stream() const;
  void* allocate(uint64_t bytes);
  void free(const Block& block);

  const Device& device_;
  nvinfer1::IGpuAllocator* allocator_;
  nvinfer1::IGpuAllocator* temporary_ = nullptr;
  Stream* stream_ = nullptr;  // of temporary_
  std::vector<Block> kept_;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  bool borrowed_ = false;
};

}  // namespace tenon
