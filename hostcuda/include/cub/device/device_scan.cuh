/// Scans in a stream.
#pragma once
#pragma GCC system_header

#include <iterator>

#include "cub/device/device.cuh"
#include "cub/operators.cuh"

namespace cub {

struct DeviceScan {
  template <class In, class Out, class F, class N>
  static cudaError_t InclusiveScan(void* storage, std::size_t& bytes, In in, Out out, F combine,
                                   N count, cudaStream_t stream = nullptr, bool = false) {
    return in_stream(storage, bytes, stream, [=]() mutable {
      if (count <= 0) return;
      auto total = *in;
      *out = total;
      for (N i = 1; i < count; ++i) {
        total = combine(total, in[i]);
        out[i] = total;
      }
    });
  }
  template <class In, class Out, class F, class T, class N>
  static cudaError_t ExclusiveScan(void* storage, std::size_t& bytes, In in, Out out, F combine,
                                   T first, N count, cudaStream_t stream = nullptr, bool = false) {
    return in_stream(storage, bytes, stream, [=]() mutable {
      T total = first;
      for (N i = 0; i < count; ++i) {
        const T item = in[i];
        out[i] = total;
        total = combine(total, item);
      }
    });
  }
  template <class In, class Out, class N>
  static cudaError_t InclusiveSum(void* storage, std::size_t& bytes, In in, Out out, N count,
                                  cudaStream_t stream = nullptr, bool = false) {
    return InclusiveScan(storage, bytes, in, out, cub::Sum(), count, stream);
  }
  template <class In, class Out, class N>
  static cudaError_t ExclusiveSum(void* storage, std::size_t& bytes, In in, Out out, N count,
                                  cudaStream_t stream = nullptr, bool = false) {
    using T = typename std::iterator_traits<In>::value_type;
    return ExclusiveScan(storage, bytes, in, out, cub::Sum(), T{}, count, stream);
  }
};

}  // namespace cub
