#include "streams/cuda_streams.h"

#include "base/cuda_stream.h"
#include "tenon/cudart/engine.h"

namespace tenon {
namespace {

Failure failure_of(cudaError_t status) {
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

Failure create(Stream*& stream, unsigned flags) {
  cudaStream_t made = nullptr;
  const cudaError_t status = cudaStreamCreateWithFlags(&made, flags);
  stream = from_cuda(made);
  return failure_of(status);
}

Failure create(Event*& event, unsigned flags) {
  cudaEvent_t made = nullptr;
  const cudaError_t status = cudaEventCreateWithFlags(&made, flags);
  event = from_cuda(made);
  return failure_of(status);
}

}  // namespace

Failure CudaStreams::create_stream(Stream*& stream) const {
  return create(stream, cudaStreamDefault);
}

Failure CudaStreams::create_auxiliary_stream(Stream*& stream) const {
  return create(stream, cudaStreamNonBlocking);
}

void CudaStreams::destroy(Stream* stream) const noexcept {
  static_cast<void>(cudaStreamDestroy(to_cuda(stream)));
}

Failure CudaStreams::synchronize(Stream* stream) const noexcept {
  return failure_of(cudaStreamSynchronize(to_cuda(stream)));
}

void CudaStreams::synchronize_all() const noexcept {
  static_cast<void>(cudaDeviceSynchronize());
}

bool CudaStreams::is_capturing(Stream* stream) const noexcept {
  return cudart::is_capturing(to_cuda(stream));
}

Failure CudaStreams::create_event(Event*& event) const {
  return create(event, cudaEventDisableTiming);
}

Failure CudaStreams::create_timing_event(Event*& event) const {
  return create(event, cudaEventDefault);
}

void CudaStreams::destroy(Event* event) const noexcept {
  static_cast<void>(cudaEventDestroy(to_cuda(event)));
}

Failure CudaStreams::record(Event* event, Stream* stream) const {
  return failure_of(cudaEventRecord(to_cuda(event), to_cuda(stream)));
}

Failure CudaStreams::record_time(Event* event, Stream* stream, bool captured) const {
  return failure_of(
      cudaEventRecordWithFlags(to_cuda(event), to_cuda(stream),
                               captured ? cudaEventRecordExternal : cudaEventRecordDefault));
}

Failure CudaStreams::wait(Stream* stream, Event* event) const {
  return failure_of(cudaStreamWaitEvent(to_cuda(stream), to_cuda(event), 0));
}

Failure CudaStreams::synchronize(Event* event) const noexcept {
  return failure_of(cudaEventSynchronize(to_cuda(event)));
}

Failure CudaStreams::elapsed(float& ms, Event* from, Event* to) const {
  return failure_of(cudaEventElapsedTime(&ms, to_cuda(from), to_cuda(to)));
}

Failure CudaStreams::enqueue(Stream* stream, void (*run)(void*), void* data,
                             void (*release)(void*)) const noexcept {
  return failure_of(cudart::enqueue(to_cuda(stream), run, data, release));
}

bool CudaStreams::enqueued_may_use_device() const noexcept {
  return !cudart::on_gpu();
}

void CudaStreams::report_failure() const noexcept {
  cudart::report_failure(cudaErrorLaunchFailure);
}

void CudaStreams::run_in_place(Stream* stream, FunctionRef<void()> run) const {
  const cudart::InPlace in_place(to_cuda(stream));
  run();
}

void CudaStreams::forget_failures() const noexcept {
  static_cast<void>(cudaGetLastError());
}

}  // namespace tenon
