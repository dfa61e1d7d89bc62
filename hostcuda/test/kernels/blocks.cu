// Threads that work together: shared memory, barriers, shuffles, votes, atomics.
#include "suite.h"

__global__ void reduce(const float* in, float* out, int n) {
  __shared__ float fixed[256];
  extern __shared__ float sized[];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  fixed[t] = i < n ? in[i] : 0;
  sized[t] = 1;
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (t < half) {
      fixed[t] += fixed[t + half];
      sized[t] += sized[t + half];
    }
    __syncthreads();
  }
  if (t == 0) {
    atomicAdd(out, fixed[0]);
    atomicAdd(out + 1, sized[0]);
  }
}

KERNEL_CASE(block_reduction) {
  suite::Buffer<float> in(suite::made(1000, [](size_t i) { return static_cast<float>(i % 7); }));
  suite::Buffer<float> out(size_t{2});
  reduce<<<4, 256, 256 * sizeof(float)>>>(in, out, 1000);
  suite::check("reduction", out.read(), std::vector<float>{2997, 1024});
}

__global__ void transpose(const int* in, int* out) {
  __shared__ int tile[8][8 + 1];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 8 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 8 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

KERNEL_CASE(tiles) {
  suite::Buffer<int> in(suite::made(64, [](size_t i) { return static_cast<int>(i); })),
      out(size_t{64});
  transpose<<<1, dim3(8, 8)>>>(in, out);
  suite::check("transposed", out.read(),
               suite::made(64, [](size_t i) { return static_cast<int>(i % 8 * 8 + i / 8); }));
}

template <int value> __global__ void bytes(int* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* numbers = reinterpret_cast<int*>(raw);
  numbers[threadIdx.x] = value + threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = numbers[(threadIdx.x + 1) % blockDim.x];
}

__global__ void forms(int* out) {
  __shared__ int a[4], b[4];
  __shared__ struct {
    int x;
  } c;
  static volatile __shared__ int d;
  __shared__ alignas(16) char text[4 * sizeof(int)];
  if (threadIdx.x == 0) c.x = 1, d = 2;
  a[threadIdx.x] = threadIdx.x;
  b[threadIdx.x] = threadIdx.x * 10;
  reinterpret_cast<int*>(text)[threadIdx.x] = 100;
  __syncthreads();
  const int other = 3 - threadIdx.x;
  out[threadIdx.x] = a[other] + b[other] + c.x + d + reinterpret_cast<int*>(text)[other];
}

KERNEL_CASE(kinds_of_shared_memory) {
  suite::Buffer<int> out(size_t{32});
  bytes<7><<<1, 32, 32 * sizeof(int)>>>(out);
  suite::check("bytes", out.read(),
               suite::made(32, [](size_t i) { return 7 + static_cast<int>(i + 1) % 32; }));
  suite::Buffer<int> four(size_t{4});
  forms<<<1, 4>>>(four);
  suite::check("forms", four.read(), std::vector<int>{136, 125, 114, 103});
}

__global__ void leaves_early(int* out) {
  if (threadIdx.x >= 8) return;
  __shared__ int all[8];
  all[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = all[7 - threadIdx.x];
}
__global__ void votes(int* out) {
  const int odd = threadIdx.x & 1;
  const int both = __syncthreads_and(threadIdx.x < 64), any = __syncthreads_or(threadIdx.x == 63);
  const int count = __syncthreads_count(odd);
  if (threadIdx.x == 0) {
    out[0] = both != 0;
    out[1] = any != 0;
    out[2] = count;
  }
}

KERNEL_CASE(barriers) {
  suite::Buffer<int> out(size_t{8});
  leaves_early<<<1, 32>>>(out);
  suite::check("early", out.read(), std::vector<int>{7, 6, 5, 4, 3, 2, 1, 0});
  suite::Buffer<int> three(size_t{3});
  votes<<<1, 64>>>(three);
  suite::check("votes", three.read(), std::vector<int>{1, 1, 32});
}

__global__ void shuffles(int* out) {
  const unsigned all = 0xffffffff;
  const int lane = threadIdx.x;
  int* mine = out + lane * 8;
  mine[0] = __shfl_sync(all, lane * lane, 5);
  mine[1] = __shfl_up_sync(all, lane, 3);
  mine[2] = __shfl_down_sync(all, lane, 4, 16);
  mine[3] = __shfl_xor_sync(all, lane, 7);
  mine[4] = static_cast<int>(__ballot_sync(all, lane % 3 == 0));
  mine[5] = __any_sync(all, lane == 31) + 2 * __all_sync(all, lane < 31);
  mine[6] = __popc(__match_any_sync(all, lane / 5));
  double value = lane;
  for (int step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(all, value, step);
  mine[7] = static_cast<int>(value);
}

KERNEL_CASE(warps) {
  suite::Buffer<int> out(size_t{32 * 8});
  shuffles<<<1, 32>>>(out);
  suite::check("shuffles", out.read(), suite::made(32 * 8, [](size_t i) {
                 const int lane = static_cast<int>(i / 8);
                 unsigned thirds = 0;
                 for (int k = 0; k < 32; k += 3) thirds |= 1u << k;
                 const int want[] = {25,
                                     lane < 3 ? lane : lane - 3,
                                     lane % 16 < 12 ? lane + 4 : lane,
                                     lane ^ 7,
                                     static_cast<int>(thirds),
                                     1,
                                     lane / 5 == 6 ? 2 : 5,
                                     496};
                 return want[i % 8];
               }));
}

__global__ void half_warps(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x < 16)
    value += __shfl_down_sync(0x0000ffff, value, 8, 16);
  else
    value = __shfl_xor_sync(0xffff0000, value, 1);
  __syncwarp();
  out[threadIdx.x] = value;
}

KERNEL_CASE(divergent_warps) {
  suite::Buffer<int> out(size_t{32});
  half_warps<<<1, 32>>>(out);
  suite::check("halves", out.read(), suite::made(32, [](size_t i) {
                 const int lane = static_cast<int>(i);
                 return lane < 8 ? 2 * lane + 8 : lane < 16 ? 2 * lane : lane ^ 1;
               }));
}

__global__ void atomics(int* i, unsigned* u, float* f, unsigned long long* l) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], 1);
  atomicSub(&i[1], 2);
  atomicMax(&i[2], t);
  atomicMin(&i[3], -t);
  atomicAnd(&u[0], ~(1u << t % 5));
  atomicOr(&u[1], 1u << t % 7);
  atomicXor(&u[2], 3u);
  atomicInc(&u[3], 9);
  atomicAdd(f, 0.5f);
  atomicAdd(l, 1ull << 33);
  int old = atomicAdd(&i[4], 0), seen;
  do {
    seen = old;
    old = atomicCAS(&i[4], seen, seen + 3);
  } while (old != seen);
  if (t == 0) atomicExch(&i[5], 77);
}

KERNEL_CASE(atomic_functions) {
  suite::Buffer<int> i(size_t{6});
  suite::Buffer<unsigned> u(std::vector<unsigned>{0xff, 0, 0, 0});
  suite::Buffer<float> f(size_t{1});
  suite::Buffer<unsigned long long> l(size_t{1});
  atomics<<<3, 100>>>(i, u, f, l);
  suite::check("integers", i.read(), std::vector<int>{300, -600, 299, -299, 900, 77});
  suite::check("words", u.read(), std::vector<unsigned>{0xe0, 0x7f, 0, 0});
  suite::check("sums", f.read(), std::vector<float>{150});
  suite::check("wide", l.read(), std::vector<double>{std::ldexp(300., 33)});
}

__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__global__ void symbols(float* out) {
  out[threadIdx.x] = weights[threadIdx.x];
  atomicAdd(&counter, 1);
}

KERNEL_CASE(symbols_of_the_device) {
  suite::Buffer<float> out(size_t{4});
  const float more[2] = {8, 9};
  suite::require(cudaMemcpyToSymbol(weights, more, sizeof(more), sizeof(float)),
                 "cudaMemcpyToSymbol");
  symbols<<<1, 4>>>(out);
  suite::check("constants", out.read(), std::vector<float>{1, 8, 9, 4});
  int count = 0;
  suite::require(cudaMemcpyFromSymbol(&count, counter, sizeof(count)), "cudaMemcpyFromSymbol");
  void* address = nullptr;
  suite::require(cudaGetSymbolAddress(&address, counter), "cudaGetSymbolAddress");
  int again = 0;
  suite::require(cudaMemcpy(&again, address, sizeof(again), cudaMemcpyDeviceToHost), "cudaMemcpy");
  suite::check("variables", std::vector<int>{count, again}, std::vector<int>{9, 9});
}
