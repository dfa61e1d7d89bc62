#include "gpu_work.h"

#include <tenon/cudart/engine.h>

#include <algorithm>
#include <utility>

#include "engine_call.h"

namespace tenon::python {

cudaStream_t stream_of(const std::vector<Bound>& arrays) {
  cudaStream_t first = nullptr;
  for (const Bound& array : arrays) {
    if (!array.view->on_gpu()) continue;
    if (array.view->is_torch()) return array.view->stream();
    if (first == nullptr) first = array.view->stream();
  }
  return first;
}

namespace {

Event make_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  return Event(event);
}

bool is_done(const Event& event) {
  if (cudaEventQuery(event.get()) == cudaSuccess) return true;
  cudaGetLastError();  // "not ready", which others would take for an error of theirs
  return false;
}

// Whether work in one comes after that in the other: each thread has its own default stream.
bool is_same(cudaStream_t a, cudaStream_t b) {
  return a == b && a != cudaStreamPerThread;
}

}  // namespace

GpuWork::GpuWork(int gpu, size_t inputs) : gpu_(gpu), on_host_(inputs) {
  for (size_t i = 0; i < inputs; ++i) buffers_.emplace_back(session::Memory::Kind::kDevice);
  const OnGpu current(gpu);
  check_cuda(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking), "making a stream");
  done_ = make_event();
}

GpuWork::~GpuWork() {
  if (left_in_ != nullptr) {
    const Released released;
    cudaEventSynchronize(done_.get());
  }
  if (own_ != nullptr) cudaStreamDestroy(own_);
}

bool GpuWork::suits(cudaStream_t stream) const {
  if (left_in_ == nullptr || is_same(left_in_, stream)) return true;
  return !cudart::is_capturing(stream) && is_done(done_);  // the question would end a capture
}

// Arrays that are read no more are let go; the others stay, with the event of their work.
void GpuWork::let_go() {
  while (!earlier_.empty() && is_done(earlier_.front().done)) earlier_.pop_front();
  if (left_in_ != nullptr && !kept_.empty() && !is_done(done_)) {
    earlier_.push_back({std::exchange(done_, make_event()), std::move(kept_)});
    left_in_ = stream_;  // which comes after that
    check_cuda(cudaEventRecord(done_.get(), stream_), "putting the run into its stream");
  }
  kept_.clear();
}

void GpuWork::begin(cudaStream_t stream, const std::vector<Bound>& arrays) {
  stream_ = stream != nullptr ? stream : own_;
  captured_ = cudart::is_capturing(stream_);
  // A capture knows nothing of work outside; what replays the graph has waited for that.
  if (left_in_ != nullptr && !is_same(left_in_, stream_) && !captured_)
    check_cuda(cudaStreamWaitEvent(stream_, done_.get(), 0), "waiting for the run before");
  if (!captured_) let_go();
  others_.clear();
  for (const Bound& array : arrays) {
    const ArrayView& view = *array.view;
    if (!view.on_gpu()) continue;
    if (!view.is_torch()) kept_.push_back(nb::borrow(view.owner()));
    if (view.stream() == stream_ || std::ranges::count(others_, view.stream()) > 0) continue;
    others_.push_back(view.stream());
    order(view.stream(), stream_);
  }
}

void GpuWork::end(bool waited) {
  if (waited) {
    left_in_ = nullptr;
    kept_.clear();
    earlier_.clear();
    return;
  }
  for (cudaStream_t other : others_) order(stream_, other);
  if (captured_) return;
  check_cuda(cudaEventRecord(done_.get(), stream_), "putting the run into its stream");
  left_in_ = stream_;
}

}  // namespace tenon::python
