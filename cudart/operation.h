/// What a stream can be asked to do, as plain data that a ring buffer holds.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <variant>
#include <vector>

namespace tenon::cudart {

class Stream;
class Event;
class Recording;

/// A call of `run(data)`. `release(data)`, if given, follows when the stream no longer needs
/// `data`.
struct Task {
  void (*run)(void*);
  void* data;
  void (*release)(void*);
  /// Whether `run` may call the runtime: ours may, an application's host function may not.
  bool may_call_runtime;
};

struct Callback {
  cudaStreamCallback_t function;
  void* data;
  cudaStream_t stream;
};

/// `height` rows of `width` bytes. `staging`, if not null, is the source's own block and freed.
struct Copy {
  void* destination;
  std::size_t destination_pitch;
  const void* source;
  std::size_t source_pitch;
  std::size_t width;
  std::size_t height;
  void* staging;
};

struct Fill {
  void* destination;
  std::size_t pitch;
  std::size_t width;
  std::size_t height;
  unsigned char value;
};

/// Stamps the event with the time, unless it was recorded anew since.
struct Stamp {
  Event* event;
  std::uint64_t record;
};

/// Waits until `stream` has done what it held when it gave out `ticket`.
struct Wait {
  Stream* stream;
  std::uint64_t ticket;
};

struct FreeMemory {
  void* pointer;
};

/// Runs all operations of a recording, and gives up one reference to it.
struct Replay {
  Recording* recording;
};

using Action = std::variant<Task, Callback, Copy, Fill, Stamp, Wait, FreeMemory, Replay>;

/// What a capture recorded, in order. Graphs, their executables and launches share it.
class Recording {
 public:
  Recording* retain() {
    references_.fetch_add(1, std::memory_order_relaxed);
    return this;
  }
  void release();

  std::vector<Action> actions;

 private:
  ~Recording() = default;
  std::atomic<int> references_{1};
};

/// Runs an action on the calling thread, as the stream's work. Nothing escapes from it.
void run(const Action& action, Stream& stream) noexcept;

}  // namespace tenon::cudart
