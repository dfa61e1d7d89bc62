/// The API of stream capture and graphs.
#include <utility>

#include "cudart/runtime.h"

namespace tenon::cudart {
namespace {

std::uintptr_t as_number(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

/// The recording behind a handle, retained; null if the handle is not live.
Recording* recording_of(HandleTable<Graph>& table, const void* handle) {
  Graph* graph = table.find(as_number(handle));
  if (!graph) return nullptr;
  const std::lock_guard lock(graph->mutex);
  return graph->recording ? graph->recording->retain() : nullptr;
}

/// Puts a recording behind a new handle, which owns it from then on.
template <class Handle> Handle publish(HandleTable<Graph>& table, Recording* recording) {
  std::uintptr_t handle;
  try {
    handle = table.acquire();
  } catch (...) {
    recording->release();
    throw;
  }
  Graph* graph = table.find(handle);
  const std::lock_guard lock(graph->mutex);
  graph->recording = recording;
  return reinterpret_cast<Handle>(handle);
}

cudaError_t destroy(HandleTable<Graph>& table, const void* handle) {
  Graph* graph = table.release(as_number(handle));
  if (!graph) return cudaErrorInvalidValue;
  Recording* recording;
  {
    const std::lock_guard lock(graph->mutex);
    recording = std::exchange(graph->recording, nullptr);
  }
  if (recording) recording->release();
  table.recycle(as_number(handle));
  return cudaSuccess;
}

/// A graph may replace another if it has the same kinds of operations in the same order.
bool same_kinds(const Recording& one, const Recording& other) {
  if (one.actions.size() != other.actions.size()) return false;
  for (std::size_t index = 0; index < one.actions.size(); ++index) {
    if (one.actions[index].index() != other.actions[index].index()) return false;
  }
  return true;
}

}  // namespace
}  // namespace tenon::cudart

using namespace tenon::cudart;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return api([&](Runtime& all) {
    Place place;
    if (const cudaError_t error = find_place(handle, place)) return error;
    if (place.in_place || place.stream == all.legacy) return cudaErrorStreamCaptureUnsupported;
    return all.captures.begin(*place.stream, mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return api([&](Runtime& all) {
    if (!graph) return cudaErrorInvalidValue;
    *graph = nullptr;
    Place place;
    if (const cudaError_t error = find_place(handle, place)) return error;
    Recording* recording;
    if (const cudaError_t error = all.captures.end(*place.stream, &recording)) return error;
    *graph = publish<cudaGraph_t>(all.graphs, recording);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* dependency_count) {
  return api([&](Runtime& all) {
    if (!status) return cudaErrorInvalidValue;
    // Nodes have no handles, so there is no graph to add to while it is captured.
    if (graph || dependencies || edges || dependency_count) return cudaErrorNotSupported;
    Place place;
    if (const cudaError_t error = find_place(handle, place)) return error;
    *status = all.captures.status(*place.stream, id);
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api([&](Runtime&) {
    if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed) {
      return cudaErrorInvalidValue;
    }
    std::swap(*mode, thread_context().capture_mode);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  return api([&](Runtime& all) {
    if (!graph || flags != 0) return cudaErrorInvalidValue;
    *graph = publish<cudaGraph_t>(all.graphs, new Recording);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return api([&](Runtime& all) { return destroy(all.graphs, graph); });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return api([&](Runtime& all) {
    if (!count) return cudaErrorInvalidValue;
    // Nodes can be counted, but have no handles.
    if (nodes) return cudaErrorNotSupported;
    Recording* recording = recording_of(all.graphs, graph);
    if (!recording) return cudaErrorInvalidValue;
    *count = recording->actions.size();
    recording->release();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return api([&](Runtime& all) {
    constexpr unsigned long long kHarmless = cudaGraphInstantiateFlagAutoFreeOnLaunch
                                             | cudaGraphInstantiateFlagUpload
                                             | cudaGraphInstantiateFlagUseNodePriority;
    if (!exec) return cudaErrorInvalidValue;
    *exec = nullptr;
    if (flags == cudaGraphInstantiateFlagDeviceLaunch) return cudaErrorNotSupported;
    if (flags & ~kHarmless) return cudaErrorInvalidValue;
    Recording* recording = recording_of(all.graphs, graph);
    if (!recording) return cudaErrorInvalidValue;
    *exec = publish<cudaGraphExec_t>(all.executables, recording);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  return api([&](Runtime& all) {
    if (!result) return cudaErrorInvalidValue;
    *result = {cudaGraphExecUpdateError, nullptr, nullptr};
    Graph* target = all.executables.find(as_number(exec));
    Recording* next = recording_of(all.graphs, graph);
    if (!target || !next) {
      if (next) next->release();
      return cudaErrorInvalidValue;
    }
    Recording* previous = next;
    {
      const std::lock_guard lock(target->mutex);
      if (target->recording && same_kinds(*target->recording, *next)) {
        previous = std::exchange(target->recording, next);
        result->result = cudaGraphExecUpdateSuccess;
      } else {
        result->result = cudaGraphExecUpdateErrorTopologyChanged;
      }
    }
    previous->release();
    return result->result == cudaGraphExecUpdateSuccess ? cudaSuccess
                                                        : cudaErrorGraphExecUpdateFailure;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return api([&](Runtime& all) { return destroy(all.executables, exec); });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return api([&](Runtime& all) {
    // There is nowhere to upload to.
    Place place;
    if (const cudaError_t error = find_place(stream, place)) return error;
    return all.executables.find(as_number(exec)) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return api([&](Runtime& all) {
    Place place;
    if (const cudaError_t error = find_place(stream, place)) return error;
    Recording* recording = recording_of(all.executables, exec);
    if (!recording) return cudaErrorInvalidValue;
    cudaError_t error;
    try {
      error = dispatch(place, Replay{recording});
    } catch (...) {
      recording->release();
      throw;
    }
    if (error) recording->release();
    return error;
  });
}
