/// The two steps of algorithms of a device: the size of their storage, and their work in a stream.
#pragma once
#pragma GCC system_header

#include <cuda_runtime.h>

#include "tenon/hostcuda/stream_work.h"

namespace cub {

/// The work needs no storage, and callers have to give some.
template <class F>
cudaError_t in_stream(void* storage, std::size_t& bytes, cudaStream_t stream, F&& work) {
  if (storage != nullptr) return tenon::hostcuda::put_into(stream, std::forward<F>(work));
  bytes = 1;
  return cudaSuccess;
}

}  // namespace cub
