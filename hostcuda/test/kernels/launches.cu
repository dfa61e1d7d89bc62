// Ways to write kernels and launches.
#include "suite.h"

#define LAUNCH(kernel, grid, block, ...)  \
  do {                                    \
    kernel<<<grid, block>>>(__VA_ARGS__); \
  } while (0)
#define DEFINE(name, op)                  \
  __global__ void name(int* p) {          \
    p[threadIdx.x] = p[threadIdx.x] op 2; \
  }
DEFINE(add_two, +)
DEFINE(times_two, *)

template <class T> struct Wrapped {
  T value;
};
namespace inner {
template <class T, bool is_on> __global__ void put(Wrapped<T>* places, T value);
}
template <class T, bool is_on>
__global__ void __launch_bounds__(128) inner::put(Wrapped<T>* places, T value) {
  if (!is_on) return;
  places[blockIdx.x * blockDim.x + threadIdx.x].value = value;
}

template <class... A> __global__ void sum(int* out, A... values) {
  const int all[] = {static_cast<int>(values)...};
  int total = 0;
  for (int value : all) total += value;
  out[threadIdx.x] = total;
}

template <class T> void put_if(T* p, bool is_on) {
  if (is_on)
    inner::put<T, (sizeof(T) > 2)><<<1, 4>>>(reinterpret_cast<Wrapped<T>*>(p), T(5));
  else
    sum<<<1, 1>>>(reinterpret_cast<int*>(p), 1);
}

KERNEL_CASE(macros_and_templates) {
  suite::Buffer<int> p(std::vector<int>(8, 1));
  LAUNCH(add_two, 1, 4, p);
  LAUNCH(times_two, dim3{1}, dim3(2, 1, 1), p);
  suite::check("macros", p.read(), std::vector<int>{6, 6, 3, 3, 1, 1, 1, 1});
  put_if(p.data(), true);
  sum<<<dim3(1), 2, 0, nullptr>>>(p + 4, 1, 2.5f, static_cast<short>(3));
  suite::check("templates", p.read(), std::vector<int>{5, 5, 5, 5, 6, 6, 1, 1});
}

KERNEL_CASE(pointers_to_kernels) {
  suite::Buffer<int> p(std::vector<int>(2, 1));
  void (*kernel)(int*) = p.data() != nullptr ? add_two : times_two;
  kernel<<<1, 1>>>(p);
  int* pointer = p;
  void* arguments[] = {&pointer};
  suite::require(cudaLaunchKernel(times_two, dim3(1), dim3(2), arguments, 0, nullptr), "typed");
  suite::require(cudaLaunchKernel(reinterpret_cast<const void*>(&add_two), dim3(1), dim3(2),
                                  arguments, 0, nullptr),
                 "by address");
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(1);
  configuration.blockDim = dim3(2);
  suite::require(cudaLaunchKernelEx(&configuration, times_two, pointer), "with a configuration");
  suite::check("pointers", p.read(), std::vector<int>{16, 8});
}

struct Big {
  double values[20];
  int last;
};
__global__ void mixed(float a, Big big, double* out, short b, const int n, Big other) {
  if (threadIdx.x == 0) {
    out[0] = a + b;
    out[1] = big.values[19] + big.last;
    out[2] = other.values[0] * n;
  }
}

KERNEL_CASE(arguments_by_address) {
  suite::Buffer<double> out(size_t{3});
  Big big{}, other{};
  big.values[19] = 2.5;
  big.last = 4;
  other.values[0] = 3;
  float a = 1.5f;
  short b = -2;
  int n = 7;
  double* pointer = out;
  void* arguments[] = {&a, &big, &pointer, &b, &n, &other};
  const void* kernel = reinterpret_cast<const void*>(&mixed);
  suite::require(cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments, 0, nullptr), "mixed");
  suite::check("arguments", out.read(), std::vector<double>{-0.5, 6.5, 21});
}

__global__ void indices(int* out) {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * block;
}

KERNEL_CASE(three_dimensions) {
  suite::Buffer<int> out(size_t{2 * 2 * 2 * 24});
  indices<<<dim3(2, 2, 2), dim3(4, 3, 2)>>>(out);
  suite::check("indices", out.read(), suite::made(2 * 2 * 2 * 24, [](size_t i) {
                 const int t = static_cast<int>(i % 24), block = static_cast<int>(i / 24);
                 return t % 4 + 10 * (t / 4 % 3) + 100 * (t / 12) + 1000 * block;
               }));
}

__device__ int far_away(int x) {
  return x + static_cast<int>(threadIdx.x) + static_cast<int>(blockDim.x);
}
__global__ void calls(int* out) {
  out[threadIdx.x] = far_away(100 * blockIdx.x);
}

KERNEL_CASE(indices_in_functions) {
  suite::Buffer<int> out(size_t{8});
  calls<<<1, 8>>>(out);
  suite::check("functions", out.read(),
               suite::made(8, [](size_t i) { return static_cast<int>(i) + 8; }));
}

__global__ __launch_bounds__(64) void bounded(int* out) {
  out[threadIdx.x] = 1;
}
__global__ void greedy(int* out) {
  extern __shared__ int memory[];
  memory[threadIdx.x] = 3;
  __syncthreads();
  out[threadIdx.x] = memory[threadIdx.x];
}

KERNEL_CASE(wrong_launches) {
  suite::Buffer<int> out(size_t{1024});
  const auto is_refused = [](auto launch) {
    launch();
    const cudaError_t error = cudaGetLastError();
    cudaDeviceSynchronize();
    // Which error is a matter of CUDA's version.
    return static_cast<int>(error != cudaSuccess);
  };
  std::vector<int> refused;
  refused.push_back(is_refused([&] { greedy<<<0, 32, 128>>>(out); }));
  refused.push_back(is_refused([&] { greedy<<<1, 2048, 128>>>(out); }));
  refused.push_back(is_refused([&] { greedy<<<1, dim3(1, 1, 128), 128>>>(out); }));
  refused.push_back(is_refused([&] { greedy<<<dim3(1, 70000), 32, 128>>>(out); }));
  refused.push_back(is_refused([&] { greedy<<<1, 32, 64 * 1024>>>(out); }));
  suite::require(
      cudaFuncSetAttribute(greedy, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024),
      "cudaFuncSetAttribute");
  refused.push_back(is_refused([&] { greedy<<<1, 32, 64 * 1024>>>(out); }));
  suite::check("refused", refused, std::vector<int>{1, 1, 1, 1, 1, 0});
  cudaFuncAttributes attributes{};
  suite::require(cudaFuncGetAttributes(&attributes, bounded), "cudaFuncGetAttributes");
  int blocks = 0, grid = 0, block = 0;
  suite::require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 64, 0),
                 "occupancy");
  suite::require(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded), "block size");
  suite::check("attributes",
               std::vector<int>{attributes.maxThreadsPerBlock, blocks > 0, grid > 0, block},
               std::vector<int>{64, 1, 1, 64});
}

static size_t shared_bytes_of(int threads) {
  return static_cast<size_t>(threads) * sizeof(int);
}

KERNEL_CASE(limits_of_launches) {
  std::vector<int> limits;
  for (const cudaDeviceAttr attribute :
       {cudaDevAttrMaxThreadsPerBlock, cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimZ,
        cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxSharedMemoryPerBlock,
        cudaDevAttrWarpSize}) {
    int value = 0;
    suite::require(cudaDeviceGetAttribute(&value, attribute, 0), "cudaDeviceGetAttribute");
    limits.push_back(value);
  }
  suite::check("device", limits, std::vector<int>{1024, 1024, 64, 2147483647, 65535, 49152, 32});
  int grid = 0, block = 0;
  suite::require(
      cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, greedy, &shared_bytes_of, 128),
      "cudaOccupancyMaxPotentialBlockSizeVariableSMem");
  int blocks = 0;
  suite::require(
      cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, greedy, 128, 512, 0),
      "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  suite::check("occupancy", std::vector<int>{grid > 0, block, blocks > 0},
               std::vector<int>{1, 128, 1});
  suite::require(cudaFuncSetCacheConfig(greedy, cudaFuncCachePreferShared),
                 "cudaFuncSetCacheConfig");
  suite::require(cudaFuncSetAttribute(greedy, cudaFuncAttributePreferredSharedMemoryCarveout, 50),
                 "cudaFuncSetAttribute");
}
