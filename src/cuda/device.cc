// Memory of the current GPU.
#include <algorithm>

#include "base/cuda_stream.h"
#include "cuda/check.h"
#include "cuda/cuda_target.h"
#include "streams/cuda_streams.h"

namespace tenon::cuda {
namespace {

class TimingEvent {
 public:
  TimingEvent() { check(cudaEventCreate(&event_), "making an event"); }
  ~TimingEvent() { cudaEventDestroy(event_); }
  TimingEvent(const TimingEvent&) = delete;
  TimingEvent& operator=(const TimingEvent&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class TimingStream {
 public:
  TimingStream() { check(cudaStreamCreate(&stream_), "making a stream"); }
  ~TimingStream() { cudaStreamDestroy(stream_); }
  TimingStream(const TimingStream&) = delete;
  TimingStream& operator=(const TimingStream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

cudaPointerAttributes attributes_of(const void* data) {
  cudaPointerAttributes attributes = {};
  check(cudaPointerGetAttributes(&attributes, data), "asking for an address's memory");
  return attributes;
}

// Some machines' GPUs read all of the host's memory.
bool reads_pageable_memory() {
  int device = 0, reads = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  check(cudaDeviceGetAttribute(&reads, cudaDevAttrPageableMemoryAccess, device),
        "asking for the device's access to the host's memory");
  return reads != 0;
}

class CudaDevice final : public CudaStreams {
 public:
  bool is_host() const override { return false; }
  void* allocate(size_t bytes) const override {
    void* data = nullptr;
    if (cudaMalloc(&data, bytes) == cudaSuccess) return data;
    static_cast<void>(cudaGetLastError());
    size_t free = 0, total = 0;
    static_cast<void>(cudaMemGetInfo(&free, &total));
    fail(ErrorCode::kFAILED_ALLOCATION, "out of GPU memory: {} bytes; {} of {} are free", bytes,
         free, total);
  }
  void release(void* data) const noexcept override { static_cast<void>(cudaFree(data)); }
  void copy_in(void* to, const void* from, size_t bytes, Stream* stream) const override {
    if (bytes > 0)
      check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, to_cuda(stream)),
            "a copy to the device");
  }
  void copy_out(void* to, const void* from, size_t bytes, Stream* stream) const override {
    if (bytes > 0)
      check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, to_cuda(stream)),
            "a copy to the host");
    check(cudaStreamSynchronize(to_cuda(stream)), "waiting for a copy to the host");
  }
  void copy(void* to, const void* from, size_t bytes, Stream* stream) const override {
    if (bytes > 0)
      check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, to_cuda(stream)),
            "a copy on the device");
  }
  bool reaches(const void* data) const override {
    const cudaPointerAttributes found = attributes_of(data);
    if (found.type == cudaMemoryTypeUnregistered) return reads_pageable_memory();
    // Other devices' memory has no address here unless the program has enabled that.
    return found.type != cudaMemoryTypeDevice || found.device == current()
           || found.devicePointer != nullptr;
  }
  bool host_reaches(const void* data) const override {
    return attributes_of(data).type != cudaMemoryTypeDevice;
  }
  void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                 size_t rows, Stream* stream) const override {
    if (bytes * rows == 0) return;
    if (rows == 1 || (to_step == bytes && from_step == bytes))
      return copy(to, from, bytes * rows, stream);
    check(cudaMemcpy2DAsync(to, to_step, from, from_step, bytes, rows, cudaMemcpyDeviceToDevice,
                            to_cuda(stream)),
          "a copy of rows on the device");
  }
  void clear(void* data, size_t bytes, Stream* stream) const override {
    if (bytes > 0) check(cudaMemsetAsync(data, 0, bytes, to_cuda(stream)), "clearing memory");
  }
  int current() const override {
    int device = 0;
    check(cudaGetDevice(&device), "asking for the current device");
    return device;
  }
  void make_current(int device) const override {
    check(cudaSetDevice(device), "making a device the current one");
  }
  // Several runs between two events, so that the time of launching is hidden as it is in a network.
  float measure(FunctionRef<void(Stream*)> run, const CacheState&) const override {
    static_cast<void>(cudaGetLastError());  // of earlier calls, which kernels would take for theirs
    const TimingStream stream;
    const TimingEvent start, end;
    const auto time = [&](int runs) {
      check(cudaEventRecord(start, stream), "recording an event");
      for (int i = 0; i < runs; ++i) run(from_cuda(stream));
      check(cudaEventRecord(end, stream), "recording an event");
      check(cudaEventSynchronize(end), "waiting for a kernel");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, start, end), "reading a time");
      return ms / static_cast<float>(runs);
    };
    time(1);  // what is made at the first call
    const float once = time(1);
    const int runs = std::clamp(static_cast<int>(1.f / std::max(once, 1e-3f)), 1, 20);
    float best = once;
    for (int i = 0; i < 4; ++i) best = std::min(best, time(runs));
    return best;
  }
};

}  // namespace

const Device& cuda_device() {
  static const auto& device = *new CudaDevice;  // never destroyed
  return device;
}

}  // namespace tenon::cuda
