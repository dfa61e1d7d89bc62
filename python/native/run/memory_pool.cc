#include "memory_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>

#include "messages.h"

namespace tenon::python {
namespace {

// More pinned memory than this makes the machine slow: results that are kept are in ordinary one.
constexpr size_t kMostPinned = size_t{1} << 30;
constexpr size_t kPoolAlignment = 512;

// At most an eighth more, so that sizes that change a little find blocks.
size_t rounded(size_t bytes) {
  const size_t step = std::max(kPoolAlignment, std::bit_floor(std::max<size_t>(bytes, 1)) / 8);
  return (std::max<size_t>(bytes, 1) + step - 1) / step * step;
}

// What a stream's blocks are kept under: each thread has its own behind one handle.
cudaStream_t key_of(cudaStream_t stream) {
  thread_local char own = 0;
  return stream == cudaStreamPerThread ? reinterpret_cast<cudaStream_t>(&own) : stream;
}

}  // namespace

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw Error(std::string(what) + " failed: " + cudaGetErrorString(status));
}

OnGpu::OnGpu(int gpu) {
  int current = 0;
  check_cuda(cudaGetDevice(&current), "asking for the current GPU");
  if (current == gpu) return;
  check_cuda(cudaSetDevice(gpu), "making a GPU the current one");
  previous_ = current;
}

OnGpu::~OnGpu() {
  if (previous_ >= 0) cudaSetDevice(previous_);
}

void order(cudaStream_t earlier, cudaStream_t later) {
  if (earlier == later) return;
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  const cudaError_t recorded = cudaEventRecord(event, earlier);
  const cudaError_t waits =
      recorded == cudaSuccess ? cudaStreamWaitEvent(later, event, 0) : recorded;
  cudaEventDestroy(event);
  check_cuda(waits, "waiting for the stream that an array was made in");
}

MemoryPool::~MemoryPool() {
  clear();
}

void MemoryPool::clear() {
  for (const auto& [key, data] : idle_) {
    release(data);
    bytes_ -= key.second;
  }
  idle_.clear();
}

void* MemoryPool::allocate(size_t bytes) {
  void* data = nullptr;
  const cudaError_t status =
      kind_ == Kind::kGpu ? cudaMalloc(&data, bytes) : cudaMallocHost(&data, bytes);
  if (status == cudaSuccess) return data;
  cudaGetLastError();
  return nullptr;
}

void MemoryPool::release(void* data) const {
  if (kind_ == Kind::kGpu)
    cudaFree(data);
  else
    cudaFreeHost(data);
}

Memory MemoryPool::take(size_t bytes, cudaStream_t stream) {
  const Key key{key_of(stream), rounded(bytes)};
  const std::lock_guard lock(mutex_);
  if (const auto found = idle_.find(key); found != idle_.end()) {
    void* const data = found->second;
    idle_.erase(found);
    return Memory(data, FreeMemory{shared_from_this(), key.first, key.second});
  }
  void* data = nullptr;
  if (kind_ == Kind::kGpu || bytes_ + key.second <= kMostPinned) {
    data = allocate(key.second);
    if (data == nullptr && !idle_.empty()) {
      clear();
      data = allocate(key.second);
    }
  }
  if (data != nullptr) {
    bytes_ += key.second;
    return Memory(data, FreeMemory{shared_from_this(), key.first, key.second});
  }
  if (kind_ == Kind::kGpu)
    throw Error("out of GPU memory: " + std::to_string(bytes) + " bytes for an output");
  data = std::aligned_alloc(kPoolAlignment, key.second);
  if (data == nullptr)
    throw Error("out of memory: " + std::to_string(bytes) + " bytes for an output");
  return Memory(data);
}

void MemoryPool::give_back(void* data, const Key& key) {
  const std::lock_guard lock(mutex_);
  idle_.emplace(key, data);
}

void FreeMemory::operator()(void* data) const {
  if (pool != nullptr)
    pool->give_back(data, {stream, bytes});
  else
    std::free(data);
}

}  // namespace tenon::python
