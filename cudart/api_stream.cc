/// The API of streams and events.
#include <algorithm>

#include "cudart/runtime.h"

namespace tenon::cudart {
namespace {

std::uintptr_t as_number(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

cudaError_t create(cudaStream_t* stream, unsigned flags, int priority) {
  return api([&](Runtime&) {
    if (!stream || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
    write_out(stream,
              create_stream(flags, std::clamp(priority, kGreatestPriority, kLeastPriority)));
    return cudaSuccess;
  });
}

/// Finds a stream and lets `body` use it.
template <class Body> cudaError_t with_stream(cudaStream_t handle, Body&& body) {
  return api([&](Runtime& all) {
    Place place;
    if (const cudaError_t error = find_place(handle, place)) return error;
    return body(all, place);
  });
}

template <class Body> cudaError_t with_event(cudaEvent_t handle, Body&& body) {
  return api([&](Runtime& all) {
    Event* event = all.events.find(as_number(handle));
    return event ? body(all, *event) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream, unsigned flags) {
  return with_event(handle, [&](Runtime& all, Event& event) {
    // A record node in a graph would have to be ordered by the graph: not supported yet.
    if (flags == cudaEventRecordExternal) return cudaErrorNotSupported;
    if (flags != cudaEventRecordDefault) return cudaErrorInvalidValue;
    Place place;
    if (const cudaError_t error = find_place(stream, place)) return error;
    if (!place.in_place && place.stream->capture.load()) {
      return all.captures.record(*place.stream, event);
    }
    if (!place.in_place && place.stream == all.legacy) {
      if (const cudaError_t error = all.captures.check_legacy_use()) return error;
    }
    event.record(*place.stream, place.in_place);
    return cudaSuccess;
  });
}

}  // namespace
}  // namespace tenon::cudart

using namespace tenon::cudart;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return create(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return create(stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return create(stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return api([&](Runtime&) { return destroy_stream(stream); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with_stream(handle, [](Runtime& all, const Place& place) {
    if (place.in_place) return cudaSuccess;
    Stream& stream = *place.stream;
    if (const cudaError_t error = all.captures.check_synchronisation(stream)) return error;
    return finish(stream, stream.newest());
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with_stream(handle, [](Runtime& all, const Place& place) {
    if (place.in_place) return cudaSuccess;
    Stream& stream = *place.stream;
    if (const cudaError_t error = all.captures.check_synchronisation(stream)) return error;
    const std::uint64_t newest = stream.newest();
    return stream.done(newest) ? stream.take_error(newest) : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned int flags) {
  return with_stream(handle, [&](Runtime& all, const Place& place) {
    if (flags == cudaEventWaitExternal) return cudaErrorNotSupported;
    if (flags != cudaEventWaitDefault) return cudaErrorInvalidValue;
    Event* event = all.events.find(as_number(event_handle));
    if (!event) return cudaErrorInvalidResourceHandle;
    const EventState state = event->state();
    if (!place.in_place && (state.capture || place.stream->capture.load())) {
      return all.captures.wait(*place.stream, *event);
    }
    if (!state.stream || state.stream == place.stream) return cudaSuccess;
    return dispatch(place, Wait{state.stream, state.ticket});
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data,
                                  unsigned int flags) {
  return with_stream(handle, [&](Runtime&, const Place& place) {
    if (!callback || flags != 0) return cudaErrorInvalidValue;
    if (!place.in_place && place.stream->capture.load()) return cudaErrorStreamCaptureUnsupported;
    return dispatch(place, Callback{callback, data, handle});
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return with_stream(handle, [&](Runtime&, const Place& place) {
    if (!function) return cudaErrorInvalidValue;
    return dispatch(place, Task{function, data, nullptr, false});
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t handle, void*, size_t, unsigned int flags) {
  return with_stream(handle, [&](Runtime&, const Place&) {
    // All memory is visible everywhere, so there is nothing to attach.
    const bool known =
        flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle;
    return known ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  return with_stream(handle, [&](Runtime&, const Place& place) {
    if (!flags) return cudaErrorInvalidValue;
    write_out(flags, place.stream->flags());
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return with_stream(handle, [&](Runtime&, const Place& place) {
    if (!priority) return cudaErrorInvalidValue;
    write_out(priority, place.stream->priority());
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return with_stream(handle, [&](Runtime&, const Place& place) {
    if (!id) return cudaErrorInvalidValue;
    write_out<unsigned long long>(id, as_number(place.stream->handle()));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return with_stream(handle, [&](Runtime&, const Place&) {
    if (!device) return cudaErrorInvalidValue;
    write_out(device, 0);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return api([&](Runtime& all) {
    constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming;
    if (event && flags == (cudaEventInterprocess | cudaEventDisableTiming)) {
      return cudaErrorNotSupported;
    }
    if (!event || flags & ~kKnown) return cudaErrorInvalidValue;
    const std::uintptr_t handle = all.events.acquire();
    all.events.find(handle)->open(flags);
    write_out(event, reinterpret_cast<cudaEvent_t>(handle));
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return api([&](Runtime& all) {
    Event* event = all.events.release(as_number(handle));
    if (!event) return cudaErrorInvalidResourceHandle;
    event->close();
    all.events.recycle(as_number(handle));
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return record(event, stream, flags);
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return with_event(handle, [](Runtime& all, Event& event) {
    const EventState state = event.state();
    if (const cudaError_t error = all.captures.check_event(state)) return error;
    if (const cudaError_t error = all.captures.check_unsafe_call()) return error;
    if (!state.done()) return cudaErrorNotReady;
    return state.stream ? state.stream->take_error(state.ticket) : cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return with_event(handle, [](Runtime& all, Event& event) {
    const EventState state = event.state();
    if (const cudaError_t error = all.captures.check_event(state)) return error;
    if (const cudaError_t error = all.captures.check_unsafe_call()) return error;
    return state.stream ? finish(*state.stream, state.ticket) : cudaSuccess;
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return api([&](Runtime& all) {
    if (!ms) return cudaErrorInvalidValue;
    Event* events[] = {all.events.find(as_number(start)), all.events.find(as_number(end))};
    for (Event* event : events) {
      if (!event) return cudaErrorInvalidResourceHandle;
      const EventState state = event->state();
      if (const cudaError_t error = all.captures.check_event(state)) return error;
      if (!state.recorded || event->flags() & cudaEventDisableTiming) {
        return cudaErrorInvalidResourceHandle;
      }
    }
    for (Event* event : events) {
      if (!event->state().done()) return cudaErrorNotReady;
    }
    const std::chrono::duration<float, std::milli> elapsed = events[1]->time() - events[0]->time();
    write_out(ms, elapsed.count());
    return cudaSuccess;
  });
}
