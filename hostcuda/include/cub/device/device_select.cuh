/// Selections in a stream.
#pragma once
#pragma GCC system_header

#include "cub/device/device.cuh"

namespace cub {

struct DeviceSelect {
  template <class In, class Flags, class Out, class Selected, class N>
  static cudaError_t Flagged(void* storage, std::size_t& bytes, In in, Flags flags, Out out,
                             Selected selected, N count, cudaStream_t stream = nullptr,
                             bool = false) {
    return in_stream(storage, bytes, stream, [=]() mutable {
      N kept = 0;
      for (N i = 0; i < count; ++i)
        if (flags[i]) out[kept++] = in[i];
      *selected = kept;
    });
  }
  template <class In, class Out, class Selected, class N, class F>
  static cudaError_t If(void* storage, std::size_t& bytes, In in, Out out, Selected selected,
                        N count, F is_wanted, cudaStream_t stream = nullptr, bool = false) {
    return in_stream(storage, bytes, stream, [=]() mutable {
      N kept = 0;
      for (N i = 0; i < count; ++i)
        if (is_wanted(in[i])) out[kept++] = in[i];
      *selected = kept;
    });
  }
};

}  // namespace cub
