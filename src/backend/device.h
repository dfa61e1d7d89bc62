// Where a target's kernels read and write, memory of the host, or of a device with copies between;
// and the streams that their work goes into.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "backend/host_caches.h"
#include "base/function_ref.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace tenon {

/// Why a call failed, in words that live as long as the process; null: it did not.
using Failure = const char*;

/// Memory and streams of a target. Thread-safe; its functions work on the thread's current device.
class Device {
 public:
  virtual ~Device() = default;
  /// Whether kernels work on host memory, on the calling thread: then nothing is copied, and
  /// streams matter to plugins alone.
  virtual bool is_host() const = 0;
  /// Aligned to 256 bytes (64 on the host). Throws Error(kFAILED_ALLOCATION) when there is none.
  virtual void* allocate(size_t bytes) const = 0;
  /// Waits for work that may still use it.
  virtual void release(void* data) const noexcept = 0;
  /// Host memory into the device's, after what is in the stream. `from` may change at once, unless
  /// it is pinned: the stream reads that itself, when it comes to it.
  virtual void copy_in(void* to, const void* from, size_t bytes, Stream* stream) const = 0;
  /// The device's memory into the host's, after what is in the stream; returns when it is there.
  virtual void copy_out(void* to, const void* from, size_t bytes, Stream* stream) const = 0;
  /// Within the device's memory, in the stream.
  virtual void copy(void* to, const void* from, size_t bytes, Stream* stream) const = 0;
  /// Whether kernels can work at an address that a caller gives: those of a GPU not where the host
  /// alone can, those of the host not where a GPU alone can.
  virtual bool reaches(const void* data) const = 0;
  /// Whether the host can read there.
  virtual bool host_reaches(const void* data) const = 0;
  /// What is wrong with memory that kernels do not reach, behind the words that name it.
  const char* why_not_reached() const {
    return is_host() ? "is a GPU's memory, and the engine runs on the CPU: give it memory of the "
                       "host, or of both (cudaMallocHost)"
                     : "is memory of the host, or of another device, that the engine's device "
                       "cannot use: give it memory of the device (cudaMalloc), or of the host that "
                       "both can use (cudaMallocHost)";
  }
  /// Rows within the device's memory, in the stream: each of `bytes`, which begin so many bytes
  /// after one another.
  virtual void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                         size_t rows, Stream* stream) const = 0;
  /// Zeros in the device's memory, in the stream.
  virtual void clear(void* data, size_t bytes, Stream* stream) const = 0;
  /// Which of the machine's devices is the thread's current one; 0 on the host.
  virtual int current() const { return 0; }
  virtual void make_current(int) const {}
  /// The least milliseconds that one of several calls of `run` takes.
  /// @param found what a call finds in the host's caches; other devices leave it out.
  virtual float measure(FunctionRef<void(Stream*)> run, const CacheState& found) const = 0;
  /// Bytes of the host's largest cache; 0 on other devices.
  virtual size_t cache_bytes() const { return 0; }

  /// A stream whose work and the default stream's wait for each other; for destroy().
  [[nodiscard]] virtual Failure create_stream(Stream*& stream) const = 0;
  /// One whose work waits for no other stream's.
  [[nodiscard]] virtual Failure create_auxiliary_stream(Stream*& stream) const = 0;
  virtual void destroy(Stream* stream) const noexcept = 0;
  /// Waits for what is in the stream. The failure is that of its work.
  [[nodiscard]] virtual Failure synchronize(Stream* stream) const noexcept = 0;
  /// Waits for what is in all streams; failures stay where they are.
  virtual void synchronize_all() const noexcept = 0;
  /// Whether the stream's work is recorded into a graph, and not done. False for what is no stream.
  virtual bool is_capturing(Stream* stream) const noexcept = 0;

  /// An event without a time, and one with; for destroy().
  [[nodiscard]] virtual Failure create_event(Event*& event) const = 0;
  [[nodiscard]] virtual Failure create_timing_event(Event*& event) const = 0;
  virtual void destroy(Event* event) const noexcept = 0;
  /// The event becomes the end of what is in the stream now.
  [[nodiscard]] virtual Failure record(Event* event, Stream* stream) const = 0;
  /// The same, with its time.
  /// @param captured the stream is being captured: the time is that of each launch of the graph.
  [[nodiscard]] virtual Failure record_time(Event* event, Stream* stream, bool captured) const = 0;
  /// What is put into the stream from now on waits for the event.
  [[nodiscard]] virtual Failure wait(Stream* stream, Event* event) const = 0;
  /// Waits for the event on the calling thread.
  [[nodiscard]] virtual Failure synchronize(Event* event) const noexcept = 0;
  /// Milliseconds between two recorded times.
  [[nodiscard]] virtual Failure elapsed(float& ms, Event* from, Event* to) const = 0;

  /// Puts `run(data)`, work of the host, into the stream, and allocates nothing at a steady depth.
  /// @param release null, or called with `data` once the stream no longer needs it: after `run`,
  /// or with the last graph that holds it if the stream is being captured, and `run` is then called
  /// at each launch. Not called after a failure.
  [[nodiscard]] virtual Failure enqueue(Stream* stream, void (*run)(void*), void* data,
                                        void (*release)(void*)) const noexcept = 0;
  /// Whether what enqueue() calls may use the device, its memory and streams, too.
  virtual bool enqueued_may_use_device() const noexcept = 0;
  /// Called within what enqueue() runs: its stream has failed.
  virtual void report_failure() const noexcept = 0;
  /// Calls `run` on this thread, which does the work of an idle stream meanwhile: what is put into
  /// it or the default stream is done at once. Only on the host.
  virtual void run_in_place(Stream* stream, FunctionRef<void()> run) const = 0;
  /// Forgets failures that earlier calls of the thread left behind.
  virtual void forget_failures() const noexcept = 0;
};

/// Memory of a device, owned.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const Device& device, size_t bytes)
      : device_(&device), data_(bytes > 0 ? device.allocate(bytes) : nullptr), bytes_(bytes) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) device_->release(data_);
  }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  const Device* device_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tenon
