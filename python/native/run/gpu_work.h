// What a lane has on a GPU: streams that its work waits for, and memory to copy through.
#pragma once

#include <cuda_runtime_api.h>
#include <tenon/session/memory.h>

#include <deque>
#include <memory>
#include <vector>

#include "array.h"
#include "memory_pool.h"
#include "ports.h"

namespace tenon::python {

/// The memory of a session's results.
struct GpuPools {
  int gpu;
  std::shared_ptr<MemoryPool> device, pinned;

  explicit GpuPools(int gpu)
      : gpu(gpu),
        device(std::make_shared<MemoryPool>(MemoryPool::Kind::kGpu, gpu)),
        pinned(std::make_shared<MemoryPool>(MemoryPool::Kind::kPinned, gpu)) {}
};

/// The stream that a call's arrays ask for: PyTorch's, or else that of the first on a GPU; null if
/// all are on the host.
cudaStream_t stream_of(const std::vector<Bound>& arrays);

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<CUevent_st, DestroyEvent>;

/// The order of a lane's calls, which share its context, among each other and with those who made
/// the arrays.
class GpuWork {
 public:
  GpuWork(int gpu, size_t inputs);
  /// Waits for the work in flight. Needs the GIL, and lends it to what that calls.
  ~GpuWork();
  GpuWork(const GpuWork&) = delete;
  GpuWork& operator=(const GpuWork&) = delete;

  int gpu() const { return gpu_; }
  /// Whether work in the stream need not wait for what others left here.
  bool suits(cudaStream_t stream) const;

  /// Begins a call, whose work goes into `stream` (null: one of its own): it comes after what is
  /// in flight here, and after what made the arrays.
  void begin(cudaStream_t stream, const std::vector<Bound>& arrays);
  /// Ends it: what the arrays' makers do next comes after its work. `waited`: there is none left.
  void end(bool waited);

  /// Where the work of this call goes, from begin() to end().
  cudaStream_t stream() const { return stream_; }
  /// Whether that stream records a CUDA graph.
  bool is_captured() const { return captured_; }
  /// Memory that input i of the host is copied to, and memory of the host for one that is not.
  session::Memory& buffer(size_t i) { return buffers_[i]; }
  std::vector<char>& on_host(size_t i) { return on_host_[i]; }

 private:
  // Arrays that work in flight reads.
  struct Kept {
    Event done;
    std::vector<nb::object> arrays;
  };

  void let_go();

  const int gpu_;
  cudaStream_t own_ = nullptr;
  Event done_;                      // of the work that was left in flight
  cudaStream_t left_in_ = nullptr;  // where that is; null: nowhere
  cudaStream_t stream_ = nullptr;   // of this call
  bool captured_ = false;
  std::vector<cudaStream_t> others_;  // of its arrays
  std::vector<nb::object> kept_;      // arrays that this call's work reads
  std::deque<Kept> earlier_;          // those of calls before, in their order
  std::vector<session::Memory> buffers_;
  std::vector<std::vector<char>> on_host_;
};

}  // namespace tenon::python
