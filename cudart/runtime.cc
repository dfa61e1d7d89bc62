/// Default streams, dispatch and waiting.
#include "cudart/runtime.h"

namespace tenon::cudart {
namespace {

std::uintptr_t as_number(cudaStream_t handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

/// A thread's default stream, made when it is first asked for and destroyed with the thread.
class PerThreadStream {
 public:
  cudaStream_t handle() {
    if (!handle_ || !runtime().streams.find(as_number(handle_))) {
      handle_ = create_stream(cudaStreamDefault, 0);
    }
    return handle_;
  }
  ~PerThreadStream() {
    if (handle_ && !process_is_ending() && !process_was_forked()) destroy_stream(handle_);
  }

 private:
  cudaStream_t handle_ = nullptr;
};

cudaStream_t per_thread_handle() {
  thread_local PerThreadStream stream;
  return stream.handle();
}

}  // namespace

ThreadContext& thread_context() {
  thread_local ThreadContext context;
  return context;
}

Runtime::Runtime() {
  watch_forks();
  const std::uintptr_t handle = streams.acquire();
  legacy = streams.find(handle);
  legacy->open(reinterpret_cast<cudaStream_t>(handle), cudaStreamDefault, 0, nullptr);
}

Runtime& runtime() {
  static auto* const runtime = new Runtime;
  return *runtime;
}

cudaError_t check_entry() {
  if (process_was_forked()) return cudaErrorInitializationError;
  if (process_is_ending()) return cudaErrorCudartUnloading;
  return thread_context().in_host_function ? cudaErrorNotPermitted : cudaSuccess;
}

cudaStream_t create_stream(unsigned flags, int priority) {
  Runtime& all = runtime();
  const std::uintptr_t handle = all.streams.acquire();
  const auto stream = reinterpret_cast<cudaStream_t>(handle);
  Stream* legacy = flags & cudaStreamNonBlocking ? nullptr : all.legacy;
  all.streams.find(handle)->open(stream, flags, priority, legacy);
  return stream;
}

cudaError_t destroy_stream(cudaStream_t handle) {
  Runtime& all = runtime();
  if (all.streams.find(as_number(handle)) == all.legacy) return cudaErrorInvalidResourceHandle;
  Stream* stream = all.streams.release(as_number(handle));
  if (!stream) return cudaErrorInvalidResourceHandle;
  all.captures.forget(*stream);
  stream->close();
  return cudaSuccess;
}

cudaError_t find_place(cudaStream_t handle, Place& place) {
  Runtime& all = runtime();
  Stream* current = thread_context().inline_stream;
  const bool is_default = !handle || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
  if (current && is_default) {
    place = {current, true};
  } else if (handle == cudaStreamPerThread) {
    place = {all.streams.find(as_number(per_thread_handle())), false};
  } else if (is_default) {
    place = {all.legacy, false};
  } else {
    Stream* found = all.streams.find(as_number(handle));
    place = {found, current && found == current};
  }
  return place.stream ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

std::uint64_t submit_in_order(Stream& stream, const Action& action) {
  Runtime& all = runtime();
  if (&stream == all.legacy) {
    all.streams.for_each([&](Stream& other) {
      if (!other.blocking()) return;
      const std::uint64_t newest = other.newest();
      if (!other.done(newest)) {
        stream.submit(Wait{&other, newest});
      } else if (const cudaError_t error = other.take_error(newest)) {
        stream.fail(error);
      }
    });
  }
  return stream.submit(action);
}

cudaError_t dispatch(const Place& place, const Action& action, std::uint64_t* ticket) {
  Stream& stream = *place.stream;
  Runtime& all = runtime();
  if (ticket) *ticket = 0;
  if (place.in_place) {
    run(action, stream);
    return cudaSuccess;
  }
  if (stream.capture.load(std::memory_order_acquire)) return all.captures.add(stream, action);
  if (&stream == all.legacy) {
    if (const cudaError_t error = all.captures.check_legacy_use()) return error;
  }
  const std::uint64_t submitted = submit_in_order(stream, action);
  if (ticket) *ticket = submitted;
  return cudaSuccess;
}

cudaError_t finish(Stream& stream, std::uint64_t ticket) {
  stream.wait(ticket);
  if (!stream.done(ticket)) return cudaErrorCudartUnloading;
  return stream.take_error(ticket);
}

void wait_for_all() {
  runtime().streams.for_each([](Stream& stream) { stream.wait(stream.newest()); });
}

}  // namespace tenon::cudart
