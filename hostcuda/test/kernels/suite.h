// Small kernels and what they must compute. nvcc and tenon-nvcc compile the same sources; the
// program prints every value, so that two machines can be compared, and fails where one differs
// from what the host computes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace suite {

inline int failures = 0;
inline const char* running = "";  // the case

struct Case {
  const char* name;
  void (*run)();
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
struct Register {
  Register(const char* name, void (*run)()) { cases().push_back({name, run}); }
};
#define KERNEL_CASE(name)                                            \
  static void case_##name();                                         \
  static const suite::Register register_##name(#name, &case_##name); \
  static void case_##name()

inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

// Memory of the device with what a vector holds.
template <class T> class Buffer {
 public:
  explicit Buffer(const std::vector<T>& values) : count_(values.size()) {
    require(cudaMalloc(&data_, count_ * sizeof(T)), "cudaMalloc");
    require(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
            "cudaMemcpy");
  }
  explicit Buffer(size_t count) : Buffer(std::vector<T>(count)) {}
  Buffer(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }
  operator T*() const { return data_; }
  T* data() const { return data_; }
  std::vector<T> read() const {
    require(cudaGetLastError(), "launch");
    std::vector<T> values(count_);
    require(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
            "the kernel");
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

template <class T> double number(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

// Bits of a float's fraction, the leading one among them, and the exponent of its least value; 0
// for integers.
template <class T>
inline constexpr int kDigits = std::is_floating_point_v<T> ? std::numeric_limits<T>::digits : 0;
template <> inline constexpr int kDigits<__half> = 11;
template <> inline constexpr int kDigits<__nv_bfloat16> = 8;
inline int least_exponent(int digits) {
  return digits == 11 ? -24 : digits == 8 ? -133 : digits == 24 ? -149 : -1074;
}

// The distance of two numbers in units in the last place of the wanted one.
inline double ulps(double got, double want, int digits) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  if (digits == 0 || !std::isfinite(got) || !std::isfinite(want)) return INFINITY;
  const int exponent = want == 0 ? -5000 : std::ilogb(want) - digits + 1;
  return std::ldexp(std::fabs(got - want), -std::max(exponent, least_exponent(digits)));
}

// One check, on one line: its name, the digits of its numbers, the most units in the last place by
// which they may differ from the wanted ones and from another machine's, and the numbers.
template <class T, class W>
void check(const std::string& what, const std::vector<T>& got, const std::vector<W>& want,
           double most_ulps = 0) {
  constexpr int digits = kDigits<T>;
  std::printf("%s/%s %d %g", running, what.c_str(), digits, most_ulps);
  for (const T& value : got) {
    if constexpr (digits == 0)
      std::printf(" %lld", static_cast<long long>(value));
    else
      std::printf(" %.*g", digits > 24 ? 17 : 9, number(value));
  }
  std::printf("\n");
  if (got.size() != want.size()) {
    ++failures;
    std::fprintf(stderr, "%s/%s has %zu numbers, not %zu\n", running, what.c_str(), got.size(),
                 want.size());
    return;
  }
  for (size_t i = 0; i < got.size(); ++i) {
    const double g = number(got[i]), w = number(want[i]);
    if (ulps(g, w, digits) <= most_ulps) continue;
    ++failures;
    std::fprintf(stderr, "%s/%s[%zu] is %.17g and should be %.17g\n", running, what.c_str(), i, g,
                 w);
    break;
  }
}

// f(0), f(1), ...
template <class F> auto made(size_t count, F f) -> std::vector<decltype(f(size_t{0}))> {
  std::vector<decltype(f(size_t{0}))> values;
  for (size_t i = 0; i < count; ++i) values.push_back(f(i));
  return values;
}

}  // namespace suite
