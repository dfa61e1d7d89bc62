// What sources use of the language: functions, classes and variables of the device.
#include "suite.h"

__noinline__ __device__ int factorial(int n) {
  return n < 2 ? 1 : n * factorial(n - 1);
}
__forceinline__ __device__ int twice(int x) {
  return 2 * x;
}
__host__ __device__ constexpr int square(int x) {
  return x * x;
}
using Operation = int (*)(int);
__device__ int negative(int x) {
  return -x;
}
__global__ void functions(int* out) {
  const Operation operations[] = {factorial, negative};
  const auto more = [&](int x) { return twice(x) + static_cast<int>(threadIdx.x); };
  const int t = threadIdx.x;
  out[t] = operations[t & 1](t) + 1000 * more(t) + 1000000 * square(t);
}

KERNEL_CASE(functions_of_the_device) {
  suite::Buffer<int> out(size_t{6});
  functions<<<1, 6>>>(out);
  suite::check("values", out.read(),
               std::vector<int>{1, 1002999, 4006002, 9008997, 16012024, 25014995});
}

struct Box {
  float low, high;
  __host__ __device__ Box(float a, float b) : low(a), high(b) {}
  __host__ __device__ float size() const { return high - low; }
  __host__ __device__ Box operator+(const Box& other) const {
    return {fminf(low, other.low), fmaxf(high, other.high)};
  }
};
template <int count> struct Stack {
  int items[count];
  int size = 0;
  __device__ void push(int item) { items[size++] = item; }
  __device__ int pop() { return items[--size]; }
};
class Shape {
 public:
  __device__ virtual ~Shape() {}
  __device__ virtual int corners() const = 0;
};
class Triangle : public Shape {
 public:
  __device__ int corners() const override { return 3; }
};
class Square : public Shape {
 public:
  __device__ int corners() const override { return 4; }
};
__global__ void objects(float* out) {
  const float t = static_cast<float>(threadIdx.x);
  Box box = Box(t, t + 1) + Box(5 - t, 6);
  Stack<8> stack;
  for (int i = 0; i < 8; ++i) stack.push(i * static_cast<int>(threadIdx.x));
  int last = 0;
  for (int i = 0; i < 3; ++i) last = stack.pop();
  const Triangle triangle;
  const Square square_shape;
  const Shape& shape = threadIdx.x & 1 ? static_cast<const Shape&>(triangle) : square_shape;
  out[threadIdx.x] = box.size() + 100 * static_cast<float>(last) + 10000 * shape.corners();
}

KERNEL_CASE(objects_of_the_device) {
  suite::Buffer<float> out(size_t{4});
  objects<<<1, 4>>>(out);
  suite::check("values", out.read(), std::vector<float>{40006, 30505, 41004, 31504});
}

struct Settings {
  int scale;
  float offsets[3];
};
__constant__ Settings settings;
__constant__ float table[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ unsigned long long total;
__device__ float grid[2][4];
static const __device__ int fixed_values[] = {7, 8, 9};
__managed__ int shared_with_the_host = 3;
template <class T> __device__ T zero_of = T(0);

__global__ void reads(float* out) {
  const int t = threadIdx.x;
  out[t] = static_cast<float>(settings.scale) * settings.offsets[t] + table[1][t] * 100
           + static_cast<float>(fixed_values[t]) * 1000 + zero_of<float>;
  grid[1][t] = out[t];
  atomicAdd(&total, 1ull << 32);
  if (t == 0) shared_with_the_host += 4;
}

KERNEL_CASE(variables_of_the_device) {
  suite::Buffer<float> out(size_t{3});
  const Settings mine = {2, {0.5f, 1.5f, 2.5f}};
  cudaStream_t stream = nullptr;
  suite::require(cudaStreamCreate(&stream), "cudaStreamCreate");
  suite::require(
      cudaMemcpyToSymbolAsync(settings, &mine, sizeof(mine), 0, cudaMemcpyHostToDevice, stream),
      "cudaMemcpyToSymbolAsync");
  reads<<<1, 3, 0, stream>>>(out);
  float row[3];
  suite::require(cudaMemcpyFromSymbolAsync(row, grid, sizeof(row), 4 * sizeof(float),
                                           cudaMemcpyDeviceToHost, stream),
                 "cudaMemcpyFromSymbolAsync");
  suite::require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  unsigned long long count = 0;
  suite::require(cudaMemcpyFromSymbol(&count, total, sizeof(count)), "cudaMemcpyFromSymbol");
  size_t bytes = 0;
  suite::require(cudaGetSymbolSize(&bytes, grid), "cudaGetSymbolSize");
  const std::vector<float> want = {7401, 8503, 9605};
  suite::check("constants", out.read(), want);
  suite::check("arrays", std::vector<float>(row, row + 3), want);
  suite::check("others",
               std::vector<unsigned long long>{count >> 32, bytes,
                                               static_cast<unsigned>(shared_with_the_host)},
               std::vector<int>{3, 32, 7});
  cudaStreamDestroy(stream);
}

// Loops over a grid that is smaller than the data, in two dimensions and with a switch that falls
// through.
__global__ void strides(int* out, int rows, int columns) {
  for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y)
#pragma unroll 4
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < columns; c += gridDim.x * blockDim.x) {
      int value = 0;
      switch ((r + c) % 4) {
        case 0:
          value += 1;
          [[fallthrough]];
        case 1:
          value += 10;
          break;
        case 2:
          if (c > r) goto done;
          value += 100;
          break;
        default:
          value = -1;
      }
    done:
      out[r * columns + c] = value;
    }
}

KERNEL_CASE(strides_of_grids) {
  suite::Buffer<int> out(size_t{7 * 11});
  strides<<<dim3(2, 2), dim3(3, 2)>>>(out, 7, 11);
  suite::check("values", out.read(), suite::made(77, [](size_t i) {
                 const int r = static_cast<int>(i / 11), c = static_cast<int>(i % 11);
                 const int want[] = {11, 10, c > r ? 0 : 100, -1};
                 return want[(r + c) % 4];
               }));
}
