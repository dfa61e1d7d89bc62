/// Work of the host in a stream, as libraries put it there.
#pragma once
#pragma GCC system_header

#include <tenon/cudart/engine.h>

#include <utility>

namespace tenon::hostcuda {

/// Calls work() in the order of the stream. It must not throw.
template <class F> cudaError_t put_into(cudaStream_t stream, F&& work) {
  using Work = std::decay_t<F>;
  auto* const kept = new Work(std::forward<F>(work));
  const cudaError_t error = cudart::enqueue(
      stream, [](void* data) { (*static_cast<Work*>(data))(); }, kept,
      [](void* data) { delete static_cast<Work*>(data); });
  if (error != cudaSuccess) delete kept;
  return error;
}

/// Calls f(i) for i in [0, count), on all threads of the machine that run blocks.
void for_each_side_by_side(long count, void (*call)(void*, long), void* data);
template <class F> void for_each(long count, F&& f) {
  for_each_side_by_side(
      count, [](void* data, long i) { (*static_cast<std::remove_reference_t<F>*>(data))(i); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace tenon::hostcuda
