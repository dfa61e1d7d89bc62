/// What kernels are written in: tensors, and loops that run on the engine's threads or, compiled by
/// nvcc, on a CUDA device.
#pragma once

#include <tenon/plugin_host.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <type_traits>

#include "tenon/plugin/spec.h"

namespace tenon {
namespace kit {

struct Split {
  int64_t outer, n, inner;
};

struct Shape : nvinfer1::Dims {
  TENON_HD int rank() const { return nbDims; }
  TENON_HD int64_t operator[](int axis) const { return d[axis]; }
  TENON_HD int64_t volume() const {
    int64_t v = 1;
    for (int i = 0; i < nbDims; ++i) v *= d[i];
    return v;
  }
  /// [outer][n][inner] around `axis`; negative axes count from the end.
  Split split(int axis) const {
    if (axis < 0) axis += nbDims;
    Split s{1, d[axis], 1};
    for (int i = 0; i < axis; ++i) s.outer *= d[i];
    for (int i = axis + 1; i < nbDims; ++i) s.inner *= d[i];
    return s;
  }
};

/// Elements in rows, first axis outermost. Does not own.
template <class E> struct Tensor {
  E* data;
  Shape shape;
  /// kLINEAR, or for ports with `channels_last` kHWC: the shape is still (N, C, H, W), the order in
  /// memory N, H, W, C.
  nvinfer1::TensorFormat format = nvinfer1::TensorFormat::kLINEAR;

  /// Whether an optional port is there.
  TENON_HD explicit operator bool() const { return data != nullptr; }
};

/// The tensors of a repeated port.
template <class E> struct Tensors {
  static constexpr int kMost = Ports::kMost;
  Tensor<E> tensor[kMost] = {};
  int count = 0;

  TENON_HD const Tensor<E>& operator[](int i) const { return tensor[i]; }
};

inline namespace TENON_TARGET {

#if !defined(__CUDACC__)

/// The workers that share one row: on the CPU, one thread and its vector lanes.
struct Team {
  template <class F> float sum(int64_t n, const F& f) const {
    constexpr int kLanes = 16;  // partial sums: they vectorise, and lose less than a single one
    float part[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int l = 0; l < kLanes; ++l) part[l] += f(i + l);
    float total = 0;
    for (; i < n; ++i) total += f(i);
    for (const float p : part) total += p;
    return total;
  }
  template <class F> void each(int64_t n, const F& f) const {
    for (int64_t i = 0; i < n; ++i) f(i);
  }
};

struct Device {
  /// As many bytes as the plugin's workspace() asked for.
  void* workspace = nullptr;

  /// Calls f(begin, end) over disjoint ranges that cover [0, n), on the engine's threads (on the
  /// caller when the engine is not Tenon). Allocates nothing. Exceptions reach the caller.
  template <class F> void parallel_ranges(int64_t n, int64_t grain, const F& f) const {
    if (n <= 0) return;
    if (tenonParallelFor == nullptr) return f(int64_t{0}, n);
    struct State {
      const F& f;
      std::mutex mutex;
      std::exception_ptr error;
    } state{f, {}, nullptr};
    const auto body = [](void* opaque, int64_t begin, int64_t end) {
      State& s = *static_cast<State*>(opaque);
      try {
        s.f(begin, end);
      } catch (...) {
        const std::lock_guard lock(s.mutex);
        s.error = std::current_exception();
      }
    };
    tenonParallelFor(n, grain, body, &state);
    if (state.error) std::rethrow_exception(state.error);
  }
  /// f(i) for every i in [0, n).
  template <class F> void parallel_for(int64_t n, const F& f) const {
    constexpr int64_t kGrain = 4096;
    parallel_ranges(n, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i);
    });
  }
  /// f(team, row) for every row in [0, rows).
  template <class F> void parallel_rows(int64_t rows, const F& f) const {
    parallel_ranges(rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) f(Team{}, row);
    });
  }
};

#else

/// The workers that share one row: a block of 256 threads.
struct Team {
  template <class F> __device__ float sum(int64_t n, const F& f) const {
    __shared__ float warp[32];
    float s = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) s += f(i);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warp[threadIdx.x / 32] = s;
    __syncthreads();
    s = 0;
    for (int w = 0; w < (blockDim.x + 31) / 32; ++w) s += warp[w];
    return s;
  }
  template <class F> __device__ void each(int64_t n, const F& f) const {
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
  }
};

template <class F> __global__ void grid_for(int64_t n, F f) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x)
    f(i);
}
template <class F> __global__ void grid_rows(int64_t rows, F f) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) f(Team{}, r);
}

struct Device {
  void* workspace = nullptr;
  cudaStream_t stream = nullptr;
  static unsigned blocks(int64_t n) { return static_cast<unsigned>(n < 65535 ? n : 65535); }
  // clang-format off: it takes launches apart.
  template <class F> void parallel_for(int64_t n, const F& f) const {
    if (n > 0) grid_for<<<blocks((n + 255) / 256), 256, 0, stream>>>(n, f);
  }
  template <class F> void parallel_rows(int64_t rows, const F& f) const {
    if (rows > 0) grid_rows<<<blocks(rows), 256, 0, stream>>>(rows, f);
  }
  // clang-format on
};

#endif

}  // namespace TENON_TARGET
}  // namespace kit
}  // namespace tenon
