// Functions of one number: FUNCTION() is a case that compares the device's with the host's.
#pragma once

#include "suite.h"

namespace suite {

template <class F, class T> __global__ void apply(F f, const T* x, T* out, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) out[t] = f(x[t]);
}

template <class F, class T, class G>
void compare(F f, const std::vector<T>& values, G g, double most_ulps) {
  const auto n = static_cast<int>(values.size());
  Buffer<T> x(values), out(values.size());
  apply<<<(n + 31) / 32, 32>>>(f, x.data(), out.data(), n);
  std::vector<T> want;
  for (const T value : values) {
    const long double wide = g(number(value));
    if constexpr (std::is_arithmetic_v<T>)
      want.push_back(static_cast<T>(wide));
    else
      want.push_back(T(static_cast<float>(wide)));
  }
  check("values", out.read(), want, most_ulps);
}

}  // namespace suite

// Expressions in x: the device's, of the type, and the host's, of a wider one, rounded once.
#define FUNCTION(type, name, most_ulps, values, of_device, of_host)                      \
  struct Function_##name {                                                               \
    __device__ type operator()(type x) const {                                           \
      return of_device;                                                                  \
    }                                                                                    \
  };                                                                                     \
  KERNEL_CASE(name) {                                                                    \
    suite::compare(                                                                      \
        Function_##name(), values, [](long double x) -> long double { return of_host; }, \
        most_ulps);                                                                      \
  }
