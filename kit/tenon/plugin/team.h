/// The workers that share one row: on the CPU one thread and its vector lanes, on CUDA a block.
#pragma once

#include "tenon/plugin/elements.h"

namespace tenon {
namespace kit {
inline namespace TENON_TARGET {

#if !defined(__CUDACC__)

struct Team {
  /// f(i) for every i in [0, n).
  template <class F> void each(int64_t n, const F& f) const {
    for (int64_t i = 0; i < n; ++i) f(i);
  }
  /// combine(...combine(identity, f(0))..., f(n - 1)), in any order.
  template <class V, class Combine, class F>
  V reduce(int64_t n, V identity, const Combine& combine, const F& f) const {
    constexpr int kLanes = 16;  // partial results: they vectorise, and sums lose less than in one
    V part[kLanes];
    for (V& p : part) p = identity;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int l = 0; l < kLanes; ++l) part[l] = combine(part[l], f(i + l));
    V total = identity;
    for (; i < n; ++i) total = combine(total, f(i));
    for (const V& p : part) total = combine(total, p);
    return total;
  }
  template <class F> float sum(int64_t n, const F& f) const {
    return reduce(n, 0.f, [](float a, float b) { return a + b; }, f);
  }
  /// store(i, combine(...combine(identity, load(0))..., load(i))) for every i: a cumulative sum,
  /// maximum, or any associative `combine`, whose left operand is what comes before.
  template <class V, class Combine, class Load, class Store>
  void scan(int64_t n, V identity, const Combine& combine, const Load& load,
            const Store& store) const {
    for (int64_t i = 0; i < n; ++i) {
      identity = combine(identity, load(i));
      store(i, identity);
    }
  }
};

#else

struct Team {
  static constexpr int kThreads = 256;

  template <class F> __device__ void each(int64_t n, const F& f) const {
    for (int64_t i = threadIdx.x; i < n; i += kThreads) f(i);
  }
  template <class V, class Combine, class F>
  __device__ V reduce(int64_t n, V identity, const Combine& combine, const F& f) const {
    V own = identity;
    for (int64_t i = threadIdx.x; i < n; i += kThreads) own = combine(own, f(i));
    V* part = shared<V>();
    part[threadIdx.x] = own;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half)
        part[threadIdx.x] = combine(part[threadIdx.x], part[threadIdx.x + half]);
    }
    __syncthreads();
    const V total = part[0];
    __syncthreads();  // the next verb writes here
    return total;
  }
  template <class F> __device__ float sum(int64_t n, const F& f) const {
    return reduce(n, 0.f, [](float a, float b) { return a + b; }, f);
  }
  template <class V, class Combine, class Load, class Store>
  __device__ void scan(int64_t n, V identity, const Combine& combine, const Load& load,
                       const Store& store) const {
    V* part = shared<V>();
    V before = identity;  // of the blocks of elements that are done
    for (int64_t first = 0; first < n; first += kThreads) {
      const int64_t i = first + threadIdx.x;
      part[threadIdx.x] = i < n ? load(i) : identity;
      for (int distance = 1; distance < kThreads; distance *= 2) {
        __syncthreads();
        const bool adds = threadIdx.x >= distance;
        const V left = adds ? part[threadIdx.x - distance] : identity;
        __syncthreads();
        if (adds) part[threadIdx.x] = combine(left, part[threadIdx.x]);
      }
      __syncthreads();
      if (i < n) store(i, combine(before, part[threadIdx.x]));
      before = combine(before, part[kThreads - 1]);
      __syncthreads();
    }
  }

 private:
  // One value for each thread. Elements of any type share the memory.
  template <class V> static __device__ V* shared() {
    static_assert(sizeof(V) <= 16, "values of a team have at most 16 bytes");
    __shared__ alignas(16) char memory[kThreads * 16];
    return reinterpret_cast<V*>(memory);
  }
};

#endif

}  // namespace TENON_TARGET
}  // namespace kit
}  // namespace tenon
