/// The rules of stream capture.
#include "cudart/capture.h"

#include <algorithm>

#include "cudart/thread_context.h"

namespace tenon::cudart {
namespace {

CaptureMember& member_of(Capture& capture, const Stream& stream) {
  return *std::find_if(capture.members.begin(), capture.members.end(),
                       [&](const CaptureMember& member) { return member.stream == &stream; });
}

void merge(std::vector<std::uint64_t>& into, const std::vector<std::uint64_t>& from) {
  into.resize(std::max(into.size(), from.size()));
  for (std::size_t index = 0; index < from.size(); ++index) {
    into[index] = std::max(into[index], from[index]);
  }
}

/// Whether the stream where the capture began comes after all that the others recorded.
bool joined(const Capture& capture) {
  std::vector<std::uint64_t> seen = capture.members.front().seen;
  seen.resize(capture.members.size());
  for (std::size_t index = 1; index < seen.size(); ++index) {
    if (seen[index] < capture.members[index].recorded) return false;
  }
  return true;
}

}  // namespace

Capture* Captures::find(std::uint64_t id) {
  for (const auto& capture : all_) {
    if (capture->id == id) return capture.get();
  }
  return nullptr;
}

template <class Concerns> cudaError_t Captures::invalidate(cudaError_t error, Concerns&& concerns) {
  if (!any()) return cudaSuccess;
  const std::lock_guard lock(mutex_);
  cudaError_t result = cudaSuccess;
  for (const auto& capture : all_) {
    if (!concerns(*capture)) continue;
    capture->invalidated = true;
    result = error;
  }
  return result;
}

void Captures::remove(Capture& capture) {
  for (CaptureMember& member : capture.members) {
    if (member.stream) member.stream->capture.store(nullptr);
  }
  std::erase_if(all_, [&](const auto& one) { return one.get() == &capture; });
  active_.store(static_cast<int>(all_.size()), std::memory_order_release);
}

cudaError_t Captures::begin(Stream& stream, cudaStreamCaptureMode mode) {
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) {
    return cudaErrorInvalidValue;
  }
  const std::lock_guard lock(mutex_);
  if (stream.capture.load()) return cudaErrorIllegalState;
  auto capture = std::make_unique<Capture>();
  capture->id = next_id_++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->members.push_back({&stream, 0, {}});
  stream.capture.store(capture.get());
  all_.push_back(std::move(capture));
  active_.store(static_cast<int>(all_.size()), std::memory_order_release);
  return cudaSuccess;
}

cudaError_t Captures::end(Stream& stream, Recording** recording) {
  *recording = nullptr;
  const std::lock_guard lock(mutex_);
  Capture* capture = stream.capture.load();
  if (!capture) return cudaErrorIllegalState;
  if (capture->members.front().stream != &stream) {
    capture->invalidated = true;
    return cudaErrorStreamCaptureUnmatched;
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed
      && capture->thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  cudaError_t result = cudaSuccess;
  if (capture->invalidated) {
    result = cudaErrorStreamCaptureInvalidated;
  } else if (!joined(*capture)) {
    result = cudaErrorStreamCaptureUnjoined;
  } else {
    *recording = capture->recording->retain();
  }
  remove(*capture);
  return result;
}

cudaStreamCaptureStatus Captures::status(Stream& stream, unsigned long long* id) {
  if (!any()) return cudaStreamCaptureStatusNone;
  const std::lock_guard lock(mutex_);
  const Capture* capture = stream.capture.load();
  if (!capture) return cudaStreamCaptureStatusNone;
  if (id) *id = capture->id;
  return capture->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

cudaError_t Captures::add(Stream& stream, const Action& action) {
  const std::lock_guard lock(mutex_);
  Capture* capture = stream.capture.load();
  if (!capture) return cudaErrorIllegalState;
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  capture->recording->actions.push_back(action);
  CaptureMember& member = member_of(*capture, stream);
  const auto index = static_cast<std::size_t>(&member - capture->members.data());
  if (member.seen.size() <= index) member.seen.resize(index + 1);
  member.seen[index] = ++member.recorded;
  return cudaSuccess;
}

cudaError_t Captures::record(Stream& stream, Event& event) {
  const std::lock_guard lock(mutex_);
  Capture* capture = stream.capture.load();
  if (!capture) return cudaErrorIllegalState;
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  event.record_capture(capture->id, member_of(*capture, stream).seen);
  return cudaSuccess;
}

cudaError_t Captures::wait(Stream& stream, Event& event) {
  const std::lock_guard lock(mutex_);
  Capture* capture = stream.capture.load();
  const std::uint64_t id = event.state().capture;
  Capture* recorder = id ? find(id) : nullptr;
  if (id && !recorder) return cudaErrorInvalidValue;
  if (capture && capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (capture && capture != recorder) {
    capture->invalidated = true;
    if (recorder) recorder->invalidated = true;
    return recorder ? cudaErrorStreamCaptureMerge : cudaErrorStreamCaptureIsolation;
  }
  if (recorder->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (!capture) {
    recorder->members.push_back({&stream, 0, {}});
    stream.capture.store(recorder);
  }
  merge(member_of(*recorder, stream).seen, event.seen());
  return cudaSuccess;
}

cudaError_t Captures::check_unsafe_call() {
  const cudaStreamCaptureMode mine = thread_context().capture_mode;
  if (mine == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  return invalidate(cudaErrorStreamCaptureUnsupported, [&](const Capture& capture) {
    if (capture.mode == cudaStreamCaptureModeRelaxed) return false;
    const bool own = capture.thread == std::this_thread::get_id();
    return own
           || (capture.mode == cudaStreamCaptureModeGlobal && mine == cudaStreamCaptureModeGlobal);
  });
}

cudaError_t Captures::check_legacy_use() {
  return invalidate(cudaErrorStreamCaptureImplicit, [](const Capture& capture) {
    return std::any_of(
        capture.members.begin(), capture.members.end(),
        [](const CaptureMember& member) { return member.stream && member.stream->blocking(); });
  });
}

cudaError_t Captures::check_synchronisation(Stream& stream) {
  if (const cudaError_t error = check_unsafe_call()) return error;
  return invalidate(cudaErrorStreamCaptureUnsupported,
                    [&](const Capture& capture) { return stream.capture.load() == &capture; });
}

cudaError_t Captures::check_device_synchronisation() {
  return invalidate(cudaErrorStreamCaptureUnsupported, [](const Capture&) { return true; });
}

cudaError_t Captures::check_event(const EventState& state) {
  if (!state.capture) return cudaSuccess;
  const cudaError_t error = invalidate(
      cudaErrorCapturedEvent, [&](const Capture& capture) { return capture.id == state.capture; });
  return error ? error : cudaErrorInvalidValue;
}

void Captures::forget(Stream& stream) {
  if (!any()) return;
  const std::lock_guard lock(mutex_);
  Capture* capture = stream.capture.load();
  if (!capture) return;
  if (capture->members.front().stream == &stream) {
    remove(*capture);
    return;
  }
  member_of(*capture, stream).stream = nullptr;
  stream.capture.store(nullptr);
}

}  // namespace tenon::cudart
