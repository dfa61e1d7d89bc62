/// Runs the operations of a stream.
#include "cudart/operation.h"

#include <cstdlib>
#include <cstring>

#include "cudart/event.h"
#include "cudart/memory.h"
#include "cudart/stream.h"
#include "cudart/thread_context.h"

namespace tenon::cudart {
namespace {

struct Runner {
  Stream& stream;

  void operator()(const Task& task) const {
    {
      const EnterTask enter(stream, task.may_call_runtime);
      try {
        task.run(task.data);
      } catch (...) {
        stream.fail(cudaErrorLaunchFailure);
      }
    }
    // A recorded task is released with its recording.
    if (task.release && !replaying) task.release(task.data);
  }

  void operator()(const Callback& callback) const {
    const EnterTask enter(stream, false);
    try {
      callback.function(callback.stream, stream.peek_error(), callback.data);
    } catch (...) {
      stream.fail(cudaErrorLaunchFailure);
    }
  }

  void operator()(const Copy& copy) const {
    if (copy.width == copy.destination_pitch && copy.width == copy.source_pitch) {
      std::memmove(copy.destination, copy.source, copy.width * copy.height);
    } else {
      for (std::size_t row = 0; row < copy.height; ++row) {
        std::memmove(static_cast<char*>(copy.destination) + row * copy.destination_pitch,
                     static_cast<const char*>(copy.source) + row * copy.source_pitch, copy.width);
      }
    }
    std::free(copy.staging);
  }

  void operator()(const Fill& fill) const {
    for (std::size_t row = 0; row < fill.height; ++row) {
      std::memset(static_cast<char*>(fill.destination) + row * fill.pitch, fill.value, fill.width);
    }
  }

  void operator()(const Stamp& stamp) const { stamp.event->stamp(stamp.record); }

  void operator()(const Wait& wait) const {
    wait.stream->wait(wait.ticket);
    // Work that depends on failed work has failed too.
    if (const cudaError_t error = wait.stream->peek_error(wait.ticket)) stream.fail(error);
  }

  void operator()(const FreeMemory& memory) const { memory_registry().release(memory.pointer); }

  void operator()(const Replay& replay) const {
    for (const Action& action : replay.recording->actions) {
      std::visit(Runner{stream, true}, action);
    }
    // A nested recording stays with the one that holds it.
    if (!replaying) replay.recording->release();
  }

  bool replaying = false;
};

}  // namespace

void Recording::release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (const Action& action : actions) {
    if (const Task* task = std::get_if<Task>(&action); task && task->release) {
      task->release(task->data);
    } else if (const Replay* replay = std::get_if<Replay>(&action)) {
      replay->recording->release();
    }
  }
  delete this;
}

void run(const Action& action, Stream& stream) noexcept {
  std::visit(Runner{stream}, action);
}

}  // namespace tenon::cudart
