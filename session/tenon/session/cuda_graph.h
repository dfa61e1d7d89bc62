// CUDA graphs of what was put into a stream.
#ifndef TENON_SESSION_CUDA_GRAPH_H
#define TENON_SESSION_CUDA_GRAPH_H

#include <cuda_runtime_api.h>

#include <utility>

namespace tenon::session {

/// What was captured of a stream, ready to be launched.
class CudaGraph {
 public:
  CudaGraph() = default;
  ~CudaGraph() { reset(); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  /// Captures what `enqueue` puts into the stream; it returns whether that worked. False, and no
  /// graph, when the stream or the work cannot be captured.
  template <class Enqueue> bool capture(cudaStream_t stream, const Enqueue& enqueue) {
    reset();
    cudaGraph_t graph = nullptr;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
      const bool is_enqueued = enqueue();
      const bool is_captured = cudaStreamEndCapture(stream, &graph) == cudaSuccess && is_enqueued;
      if (!is_captured || cudaGraphInstantiate(&exec_, graph, 0) != cudaSuccess) exec_ = nullptr;
    }
    if (exec_ == nullptr) cudaGetLastError();  // the caller knows
    if (graph != nullptr) cudaGraphDestroy(graph);
    return is_there();
  }
  bool is_there() const { return exec_ != nullptr; }
  void reset() {
    if (exec_ != nullptr) cudaGraphExecDestroy(std::exchange(exec_, nullptr));
  }
  /// @pre is_there().
  cudaError_t launch(cudaStream_t stream) const { return cudaGraphLaunch(exec_, stream); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace tenon::session

#endif  // TENON_SESSION_CUDA_GRAPH_H
