/// Reductions in a stream.
#pragma once
#pragma GCC system_header

#include <iterator>
#include <limits>

#include "cub/device/device.cuh"
#include "cub/operators.cuh"

namespace cub {

struct DeviceReduce {
  template <class In, class Out, class N, class F, class T>
  static cudaError_t Reduce(void* storage, std::size_t& bytes, In in, Out out, N count, F combine,
                            T first, cudaStream_t stream = nullptr, bool = false) {
    return in_stream(storage, bytes, stream, [=]() mutable {
      T total = first;
      for (N i = 0; i < count; ++i) total = combine(total, static_cast<T>(in[i]));
      *out = total;
    });
  }
  template <class In, class Out, class N>
  static cudaError_t Sum(void* storage, std::size_t& bytes, In in, Out out, N count,
                         cudaStream_t stream = nullptr, bool = false) {
    using T = typename std::iterator_traits<In>::value_type;
    return Reduce(storage, bytes, in, out, count, cub::Sum(), T{}, stream);
  }
  template <class In, class Out, class N>
  static cudaError_t Max(void* storage, std::size_t& bytes, In in, Out out, N count,
                         cudaStream_t stream = nullptr, bool = false) {
    using T = typename std::iterator_traits<In>::value_type;
    return Reduce(storage, bytes, in, out, count, cub::Max(), std::numeric_limits<T>::lowest(),
                  stream);
  }
  template <class In, class Out, class N>
  static cudaError_t Min(void* storage, std::size_t& bytes, In in, Out out, N count,
                         cudaStream_t stream = nullptr, bool = false) {
    using T = typename std::iterator_traits<In>::value_type;
    return Reduce(storage, bytes, in, out, count, cub::Min(), std::numeric_limits<T>::max(),
                  stream);
  }
};

}  // namespace cub
