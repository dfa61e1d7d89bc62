/// Helpers of the runtime's tests.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#define EXPECT_CUDA(expected, call) \
  EXPECT_STREQ(cudaGetErrorName(expected), cudaGetErrorName(call)) << #call
#define EXPECT_OK(call) EXPECT_CUDA(cudaSuccess, call)

namespace tenon::cudart::testing {

/// How often `operator new` was called in this process.
long allocation_count();

/// Holds up a stream until it is opened. Outlives everybody who waits at it.
class Gate {
 public:
  ~Gate() {
    open();
    std::unique_lock lock(mutex_);
    passed_.wait(lock, [this] { return waiting_ == 0; });
  }
  void block(cudaStream_t stream) {
    {
      const std::lock_guard lock(mutex_);
      ++waiting_;
    }
    EXPECT_OK(cudaLaunchHostFunc(stream, &Gate::pass, this));
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  static void pass(void* self) {
    auto* gate = static_cast<Gate*>(self);
    std::unique_lock lock(gate->mutex_);
    gate->opened_.wait(lock, [gate] { return gate->open_; });
    --gate->waiting_;
    gate->passed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable opened_, passed_;
  bool open_ = false;
  int waiting_ = 0;
};

struct TestStream {
  explicit TestStream(unsigned flags = cudaStreamDefault) {
    EXPECT_OK(cudaStreamCreateWithFlags(&handle, flags));
  }
  ~TestStream() { cudaStreamDestroy(handle); }
  operator cudaStream_t() const { return handle; }
  cudaStream_t handle = nullptr;
};

struct TestEvent {
  explicit TestEvent(unsigned flags = cudaEventDefault) {
    EXPECT_OK(cudaEventCreateWithFlags(&handle, flags));
  }
  ~TestEvent() { cudaEventDestroy(handle); }
  operator cudaEvent_t() const { return handle; }
  cudaEvent_t handle = nullptr;
};

/// Memory of one of the three kinds, given back at the end.
template <class T> struct DeviceBlock {
  explicit DeviceBlock(std::size_t count) {
    EXPECT_OK(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(T)));
  }
  ~DeviceBlock() { cudaFree(data); }
  T* data = nullptr;
};

template <class T> struct PinnedBlock {
  explicit PinnedBlock(std::size_t count) {
    EXPECT_OK(cudaMallocHost(reinterpret_cast<void**>(&data), count * sizeof(T)));
  }
  ~PinnedBlock() { cudaFreeHost(data); }
  T* data = nullptr;
};

}  // namespace tenon::cudart::testing
