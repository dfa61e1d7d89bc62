// Small kernels and what they must compute. nvcc and tenon-nvcc compile the same sources; the
// program prints every value, so that two machines can be compared, and fails where one differs
// from what the host computes.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace suite {

inline int failures = 0;

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

inline double number(double value) {
  return value;
}

// The distance of two floats, in units in the last place of the wanted one.
inline double ulps(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  const auto f = static_cast<float>(want);
  const double unit = static_cast<double>(std::nextafter(std::fabs(f), INFINITY))
                      - std::fabs(static_cast<double>(f));
  return std::fabs(got - want) / unit;
}

template <class T, class W>
void check(const char* what, const std::vector<T>& got, const std::vector<W>& want,
           double most_ulps = 0) {
  std::printf("%s", what);
  for (size_t i = 0; i < got.size(); ++i) std::printf(" %.9g", static_cast<double>(got[i]));
  std::printf("\n");
  for (size_t i = 0; i < got.size(); ++i) {
    const auto g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
    if (ulps(g, w) <= most_ulps) continue;
    ++failures;
    std::fprintf(stderr, "%s[%zu] is %.9g and should be %.9g\n", what, i, g, w);
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
