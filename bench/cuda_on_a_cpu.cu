// How fast kernels run that tenon-nvcc compiles: an element-wise one beside the same loop in plain
// C++ on as many threads, barriers, shuffles, and products of matrices.
//
//   out/hostcuda/bin/nvcc -O3 bench/cuda_on_a_cpu.cu -o cuda_on_a_cpu && ./cuda_on_a_cpu
#include <cublas_v2.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int kRuns = 9, kElements = 1 << 24, kBlocks = 256, kThreads = 256, kWaits = 32;

// The median of some runs, in seconds.
template <class... Work> std::vector<double> measure(const Work&... works) {
  std::vector<std::vector<double>> times(sizeof...(works));
  for (int run = 0; run < kRuns; ++run) {
    size_t which = 0;
    const auto once = [&](const auto& work) {
      const auto start = std::chrono::steady_clock::now();
      work();
      times[which++].push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    };
    (once(works), ...);
  }
  std::vector<double> medians;
  for (auto& one : times) {
    std::nth_element(one.begin(), one.begin() + kRuns / 2, one.end());
    medians.push_back(one[kRuns / 2]);
  }
  return medians;
}

__host__ __device__ inline float element(float x) {
  return x * 0.5f / (1 + x * x);
}

__global__ void element_wise(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = element(x[i]);
}

void plain_loop(const float* x, float* y, int n, int threads) {
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([=] {
      const int end = static_cast<int>(static_cast<long>(n) * (t + 1) / threads);
      for (int i = static_cast<int>(static_cast<long>(n) * t / threads); i < end; ++i)
        y[i] = element(x[i]);
    });
  for (std::thread& one : team) one.join();
}

__global__ void barriers(int* out) {
  for (int i = 0; i < kWaits; ++i) __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

__global__ void shuffles(int* out) {
  int value = threadIdx.x;
  for (int i = 0; i < kWaits; ++i) value = __shfl_xor_sync(0xffffffffu, value, 1);
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

void print_product(cublasHandle_t handle, int side) {
  const size_t bytes = sizeof(float) * side * side;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  cudaMalloc(&a, bytes);
  cudaMalloc(&b, bytes);
  cudaMalloc(&c, bytes);
  cudaMemset(a, 0, bytes);
  cudaMemset(b, 0, bytes);
  const float one = 1, zero = 0;
  const double seconds = measure([&] {
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, side, side, side, &one, a, side, b, side, &zero,
                c, side);
    cudaDeviceSynchronize();
  })[0];
  std::printf("product of matrices of side %d: %.0f GFLOP/s\n", side,
              2e-9 * side * side * side / seconds);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
}

}  // namespace

int main() {
  const char* const given = std::getenv("TENON_THREADS");
  const int threads =
      given ? std::atoi(given) : static_cast<int>(std::thread::hardware_concurrency());
  float *x = nullptr, *y = nullptr;
  cudaMalloc(&x, sizeof(float) * kElements);
  cudaMalloc(&y, sizeof(float) * kElements);
  for (int i = 0; i < kElements; ++i) x[i] = static_cast<float>(i % 100);
  plain_loop(x, y, kElements, threads);  // memory is there after its first use
  const auto loops = measure(
      [=] {
        element_wise<<<(kElements + kThreads - 1) / kThreads, kThreads>>>(x, y, kElements);
        cudaDeviceSynchronize();
      },
      [=] { plain_loop(x, y, kElements, threads); });
  std::printf("element-wise kernel: %.2f ms, plain loop %.2f ms: %.2f times\n", loops[0] * 1e3,
              loops[1] * 1e3, loops[0] / loops[1]);

  auto* const out = reinterpret_cast<int*>(y);
  const auto waits = measure(
      [=] {
        barriers<<<kBlocks, kThreads>>>(out);
        cudaDeviceSynchronize();
      },
      [=] {
        shuffles<<<kBlocks, kThreads>>>(out);
        cudaDeviceSynchronize();
      });
  const double count = 1e-9 * kBlocks * kThreads * kWaits / threads;
  std::printf("for each thread: barrier %.0f ns, shuffle %.0f ns\n", waits[0] / count,
              waits[1] / count);

  cublasHandle_t handle = nullptr;
  cublasCreate(&handle);
  for (const int side : {64, 128, 256, 512, 1024}) print_product(handle, side);
  cublasDestroy(handle);
  cudaFree(x);
  cudaFree(y);
}
