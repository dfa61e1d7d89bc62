// Streams and events of both targets: those of CUDA's runtime, which is NVIDIA's in a process that
// uses a GPU, and else the one on host memory.
#pragma once

#include "backend/device.h"

namespace tenon {

/// What devices have in common; they differ in their memory.
class CudaStreams : public Device {
 public:
  Failure create_stream(Stream*& stream) const override;
  Failure create_auxiliary_stream(Stream*& stream) const override;
  void destroy(Stream* stream) const noexcept override;
  Failure synchronize(Stream* stream) const noexcept override;
  void synchronize_all() const noexcept override;
  bool is_capturing(Stream* stream) const noexcept override;
  Failure create_event(Event*& event) const override;
  Failure create_timing_event(Event*& event) const override;
  void destroy(Event* event) const noexcept override;
  Failure record(Event* event, Stream* stream) const override;
  Failure record_time(Event* event, Stream* stream, bool captured) const override;
  Failure wait(Stream* stream, Event* event) const override;
  Failure synchronize(Event* event) const noexcept override;
  Failure elapsed(float& ms, Event* from, Event* to) const override;
  Failure enqueue(Stream* stream, void (*run)(void*), void* data,
                  void (*release)(void*)) const noexcept override;
  bool enqueued_may_use_device() const noexcept override;
  void report_failure() const noexcept override;
  void run_in_place(Stream* stream, FunctionRef<void()> run) const override;
  void forget_failures() const noexcept override;
};

}  // namespace tenon
