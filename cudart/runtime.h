/// The one state of the runtime, and how API functions work with it.
#pragma once

#include <system_error>

#include "cudart/capture.h"
#include "cudart/event.h"
#include "cudart/handle_table.h"
#include "cudart/process.h"
#include "cudart/stream.h"
#include "cudart/thread_context.h"

namespace tenon::cudart {

/// Priorities are accepted and kept; the threads of all streams are equal.
inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;

/// A graph or an executable: a shared recording.
struct Graph {
  std::mutex mutex;
  Recording* recording = nullptr;
};

/// Made at first use and never destroyed: workers and destructors of others may come late.
struct Runtime {
  Runtime();

  HandleTable<Stream> streams{3};
  HandleTable<Event> events{4};
  HandleTable<Graph> graphs{5};
  HandleTable<Graph> executables{6};
  Captures captures;
  Stream* legacy;
};

Runtime& runtime();

/// Where an operation goes.
struct Place {
  Stream* stream = nullptr;
  /// The calling thread does this stream's work right now, so the operation runs at once.
  bool in_place = false;
};

/// Opens a stream with a handle of its own.
cudaStream_t create_stream(unsigned flags, int priority);
/// @pre the handle is not one of a default stream.
cudaError_t destroy_stream(cudaStream_t handle);

/// Finds the stream of a handle; 0 and the two special handles name the default streams.
cudaError_t find_place(cudaStream_t handle, Place& place);

/// Runs, records or queues an action. `ticket`, if asked for, tells what to wait for: 0 if nothing.
cudaError_t dispatch(const Place& place, const Action& action, std::uint64_t* ticket = nullptr);
/// Queues an action behind all work that the legacy stream has to wait for.
std::uint64_t submit_in_order(Stream& stream, const Action& action);

/// Waits for a ticket and returns the failure of the work up to it.
cudaError_t finish(Stream& stream, std::uint64_t ticket);
/// Waits for all work of all streams. Failures stay with their streams.
void wait_for_all();

/// Why the calling thread may not use the runtime now, or success.
cudaError_t check_entry();

/// Keeps a failure as the thread's last error.
inline cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) thread_context().last_error = error;
  return error;
}

/// The frame of every API function: entry check, no exception escapes, the failure is kept.
template <class Body> cudaError_t api(Body&& body) noexcept {
  cudaError_t error = check_entry();
  if (error == cudaSuccess) {
    try {
      error = body(runtime());
    } catch (const std::bad_alloc&) {
      error = cudaErrorMemoryAllocation;
    } catch (const std::system_error&) {
      error = cudaErrorOperatingSystem;
    } catch (...) {
      error = cudaErrorUnknown;
    }
  }
  return note(error);
}

}  // namespace tenon::cudart
