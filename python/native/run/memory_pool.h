// Memory that results lie in: given back by one call, it serves the next.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "array.h"

namespace tenon::python {

/// Throws Error with CUDA's words when a call failed; `what` was tried.
void check_cuda(cudaError_t status, const char* what);

/// Makes a GPU the thread's current one for as long as it lives.
class OnGpu {
 public:
  explicit OnGpu(int gpu);
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

 private:
  int previous_ = -1;  // -1: it was the current one
};

/// Work that is put into `later` from now on begins when what is in `earlier` is done.
void order(cudaStream_t earlier, cudaStream_t later);

/// Blocks of a GPU, or of the host that the GPU copies to without a detour. A block that was given
/// back is used again by work of the stream that it was made for, which comes after all that the
/// stream had to do: whoever uses it in another stream waits for that before letting go. Safe from
/// any thread; lives as long as its blocks.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  enum class Kind { kGpu, kPinned };

  MemoryPool(Kind kind, int gpu) : kind_(kind), gpu_(gpu) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// @throws Error when the GPU has no such memory. Of pinned memory there is a limit, beyond which
  /// the memory is ordinary.
  Memory take(size_t bytes, cudaStream_t stream);

 private:
  friend struct FreeMemory;
  using Key = std::pair<cudaStream_t, size_t>;

  void* allocate(size_t bytes);
  void release(void* data) const;
  void give_back(void* data, const Key& key);
  void clear();

  const Kind kind_;
  const int gpu_;
  std::mutex mutex_;
  std::multimap<Key, void*> idle_;
  size_t bytes_ = 0;  // lent and idle
};

}  // namespace tenon::python
