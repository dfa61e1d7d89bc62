// What NVIDIA's plugins use of libraries and of the language beside the rest: items without others,
// sums behind a prefix, pairs, operators of libcu++, vectors of cuBLAS.
#include <cublas_v2.h>

#include <cub/cub.cuh>
#include <cuda/functional>
#include <cuda/std/functional>

#include "suite.h"

using Pair = cub::KeyValuePair<float, float>;
__device__ inline Pair operator+(const Pair& a, const Pair& b) {
  return Pair(a.key + b.key, a.value + b.value);
}

// CUB's own sum finds that operator before CUDA 13.
#ifdef __TENON_HOSTCUDA__
using Sum = cub::Sum;
#else
struct Sum {
  template <class T> __device__ T operator()(const T& a, const T& b) const { return a + b; }
};
#endif

template <int threads> struct Row {
  template <int items> static __device__ void reversed(const int* in, int* out, int count) {
    int mine[items];
    cub::LoadDirectBlocked(threadIdx.x, in, mine, count, -1);
    cub::StoreDirectStriped<threads>(threadIdx.x, out, mine, count);
  }
};

// A member template of a type that depends on a parameter, without the word that says so in C++.
template <int threads> __global__ void items(const int* in, int* out, int count) {
  Row<threads>::reversed<3>(in, out, count);
}

KERNEL_CASE(items_of_threads) {
  constexpr int kThreads = 4, kCount = 10;
  suite::Buffer<int> in(suite::made(12, [](size_t i) { return static_cast<int>(i); }));
  suite::Buffer<int> out(std::vector<int>(12, 99));
  dim3 gridDim = {1, 1, 1};
  items<kThreads><<<gridDim, kThreads>>>(in, out, kCount);
  suite::check("striped", out.read(), std::vector<int>{0, 3, 6, 9, 1, 4, 7, -1, 2, 5, 99, 99});
}

struct Before {
  int sum;
  __device__ int operator()(int total) {
    const int before = sum;
    sum += total;
    return before;
  }
};

__global__ void sums_behind(int* out) {
  using Scan = cub::BlockScan<int, 64>;
  __shared__ typename Scan::TempStorage storage;
  Before before{100};
  for (int round = 0; round < 2; ++round) {
    int sum = 0;
    Scan(storage).ExclusiveSum(static_cast<int>(threadIdx.x), sum, before);
    out[round * 64 + threadIdx.x] = sum;
    __syncthreads();
  }
}

KERNEL_CASE(sums_behind_a_prefix) {
  suite::Buffer<int> out(size_t{128});
  sums_behind<<<1, 64>>>(out);
  std::vector<int> want(1, 100);
  for (int i = 0; i < 127; ++i) want.push_back(want.back() + i % 64);
  suite::check("exclusive", out.read(), want);
}

__global__ void pairs(float* out) {
  using Reduce = cub::BlockReduce<Pair, 32>;
  __shared__ typename Reduce::TempStorage storage;
  const auto t = static_cast<float>(threadIdx.x);
  const Pair sum = Reduce(storage).Reduce(Pair(t, t * t), Sum());
  __syncthreads();
  using Numbers = cub::BlockReduce<float, 32>;
  __shared__ typename Numbers::TempStorage numbers;
  const float most = Numbers(numbers).Reduce(t, cuda::maximum());
  __syncthreads();
  const float least = Numbers(numbers).Reduce(t + 5, cuda::minimum());
  __syncthreads();
  const float total = Numbers(numbers).Reduce(t, cuda::std::plus<>());
  if (threadIdx.x > 0) return;
  out[0] = sum.key;
  out[1] = sum.value;
  out[2] = most;
  out[3] = least;
  out[4] = total;
}

KERNEL_CASE(pairs_and_operators) {
  suite::Buffer<float> out(size_t{5});
  pairs<<<1, 32>>>(out);
  suite::check("pairs", out.read(), std::vector<float>{496, 10416, 31, 5, 496});
}

KERNEL_CASE(vectors_of_a_library) {
  cublasHandle_t handle = nullptr;
  const auto require = [](cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) std::exit(2);
  };
  require(cublasCreate(&handle));
  cublasPointerMode_t mode{};
  require(cublasGetPointerMode(handle, &mode));
  suite::Buffer<float> x(suite::made(5, [](size_t i) { return static_cast<float>(i) - 2; }));
  suite::Buffer<float> y(std::vector<float>(5, 8));
  float sum = 0, third = 0.25f;
  require(cublasSasum(handle, 3, x, 2, &sum));
  require(cublasScopy(handle, 2, x, 1, y, 3));
  require(cublasSscal(handle, 5, &third, y, 1));
  suite::check("sum", std::vector<float>{sum}, std::vector<float>{4});
  suite::check("copy", y.read(), std::vector<float>{-0.5f, 2, 2, -0.25f, 2});
  suite::check("mode", std::vector<int>{mode}, std::vector<int>{CUBLAS_POINTER_MODE_HOST});
  cublasDestroy(handle);
}
