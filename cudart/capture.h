/// Stream captures that are under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cudart/event.h"

namespace tenon::cudart {

/// One capture: a recording, and the streams that take part in it.
struct CaptureMember {
  /// Null once the stream was destroyed.
  Stream* stream;
  /// How many operations it recorded.
  std::uint64_t recorded;
  /// Per member, how many operations come before this one's next.
  std::vector<std::uint64_t> seen;
};

class Capture {
 public:
  Capture() = default;
  ~Capture() { recording->release(); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool invalidated = false;
  Recording* recording = new Recording;
  /// The first member is the stream where it began.
  std::vector<CaptureMember> members;
};

/// All captures of the process. While there is none, asking costs one load.
class Captures {
 public:
  cudaError_t begin(Stream& stream, cudaStreamCaptureMode mode);
  /// Hands out the recording; the caller owns a reference to it.
  cudaError_t end(Stream& stream, Recording** recording);
  cudaStreamCaptureStatus status(Stream& stream, unsigned long long* id);

  cudaError_t add(Stream& stream, const Action& action);
  cudaError_t record(Stream& stream, Event& event);
  /// For a stream that is captured, or an event that was recorded by a capture.
  cudaError_t wait(Stream& stream, Event& event);

  /// Fails, and invalidates, when a capture forbids calls that may synchronise or allocate.
  cudaError_t check_unsafe_call();
  /// Fails, and invalidates, when a captured stream would have to order itself with the legacy one.
  cudaError_t check_legacy_use();
  /// Fails, and invalidates, for any synchronisation with a captured stream.
  cudaError_t check_synchronisation(Stream& stream);
  cudaError_t check_device_synchronisation();
  /// Fails for an event that a capture recorded.
  cudaError_t check_event(const EventState& state);
  /// A stream is being destroyed.
  void forget(Stream& stream);

 private:
  bool any() const { return active_.load(std::memory_order_acquire) != 0; }
  Capture* find(std::uint64_t id);
  template <class Concerns> cudaError_t invalidate(cudaError_t error, Concerns&& concerns);
  void remove(Capture& capture);

  std::atomic<int> active_{0};
  std::mutex mutex_;
  std::uint64_t next_id_ = 1;
  std::vector<std::unique_ptr<Capture>> all_;
};

}  // namespace tenon::cudart
