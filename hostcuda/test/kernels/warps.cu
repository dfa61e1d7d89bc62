// What warps and whole grids do together: reductions, aggregated atomics, partial warps, fences.
#include "suite.h"

__global__ void moved(long long* out) {
  const unsigned all = 0xffffffff;
  const int lane = threadIdx.x;
  long long* mine = out + lane * 8;
  mine[0] = static_cast<long long>(__shfl_sync(all, 1.5 * lane, lane + 1) * 2);
  mine[1] = __shfl_up_sync(all, 5ll << 32 | lane, 1, 8);
  mine[2] = __shfl_xor_sync(all, static_cast<unsigned char>(lane), 31);
  mine[3] = __shfl_down_sync(all, lane, 2, 4);
  mine[4] = __reduce_add_sync(all, lane) + 1000ll * __reduce_max_sync(all, lane ^ 9);
  mine[5] = __reduce_min_sync(all, static_cast<unsigned>(lane + 3))
            + 1000ll * __reduce_xor_sync(all, 1u << lane % 4);
  int are_same = 0;
  const unsigned same = __match_all_sync(all, lane / 32, &are_same);
  mine[6] = same + (1ll << 33) * are_same;
  mine[7] = __match_all_sync(all, lane, &are_same) + are_same;
}

KERNEL_CASE(shuffles_of_types) {
  suite::Buffer<long long> out(size_t{32 * 8});
  moved<<<1, 32>>>(out);
  suite::check("values", out.read(), suite::made(32 * 8, [](size_t i) {
                 const auto lane = static_cast<long long>(i / 8);
                 const long long want[] = {(lane + 1) % 32 * 3,
                                           5ll << 32 | (lane % 8 == 0 ? lane : lane - 1),
                                           31 - lane,
                                           lane % 4 < 2 ? lane + 2 : lane,
                                           496 + 31000,
                                           3,
                                           0xffffffffll + (1ll << 33),
                                           0};
                 return want[i % 8];
               }));
}

// 48 threads: the second warp has 16 lanes.
__global__ void partial(int* out) {
  const unsigned alive = threadIdx.x < 32 ? 0xffffffffu : 0x0000ffffu;
  int sum = static_cast<int>(threadIdx.x);
  for (int step = threadIdx.x < 32 ? 16 : 8; step > 0; step >>= 1)
    sum += __shfl_xor_sync(alive, sum, step);
  const unsigned odd = __ballot_sync(alive, threadIdx.x & 1);
  out[threadIdx.x] = sum + (odd == (alive & 0xaaaaaaaau) ? 10000 : 0);
}

KERNEL_CASE(partial_warps) {
  suite::Buffer<int> out(size_t{48});
  partial<<<1, 48>>>(out);
  suite::check("sums", out.read(),
               suite::made(48, [](size_t i) { return 10000 + (i < 32 ? 496 : 632); }));
}

// One atomic for all lanes that want a place, as filters write their output.
__global__ void kept(const int* x, int n, int* out, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool is_kept = i < n && x[i] % 3 == 0;
  const unsigned keepers = __ballot_sync(0xffffffff, is_kept);
  const int lane = threadIdx.x % warpSize;
  int first = 0;
  if (lane == 0) first = atomicAdd(count, __popc(keepers));
  first = __shfl_sync(0xffffffff, first, 0);
  if (is_kept) out[first + __popc(keepers & ((1u << lane) - 1))] = x[i];
}

KERNEL_CASE(aggregated_atomics) {
  suite::Buffer<int> x(suite::made(200, [](size_t i) { return static_cast<int>(i * 7 % 200); })),
      out(size_t{200}), count(size_t{1});
  kept<<<2, 128>>>(x, 200, out, count);
  std::vector<int> got = out.read();
  got.resize(static_cast<size_t>(count.read()[0]));
  std::sort(got.begin(), got.end());
  suite::check("kept", got, suite::made(67, [](size_t i) { return static_cast<int>(3 * i); }));
}

// The block that comes last sums what the others left.
__global__ void two_steps(const int* x, int* partial_sums, unsigned* arrived, int* out) {
  __shared__ int sum;
  __shared__ bool is_last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial_sums[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    int total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += *const_cast<volatile int*>(partial_sums + b);
    *out = total;
  }
}

KERNEL_CASE(last_block) {
  suite::Buffer<int> x(suite::made(8 * 64, [](size_t i) { return static_cast<int>(i); })),
      sums(size_t{8}), out(size_t{1});
  suite::Buffer<unsigned> arrived(size_t{1});
  for (int i = 0; i < 2; ++i) two_steps<<<8, 64>>>(x, sums, arrived, out);
  suite::check("total", out.read(), std::vector<int>{512 * 511 / 2});
  suite::check("arrived", arrived.read(), std::vector<unsigned>{0});
}

// The last steps within a warp, with __syncwarp in place of __syncthreads.
__global__ void ends_in_a_warp(const float* x, float* out) {
  volatile __shared__ float sums[64];
  const unsigned t = threadIdx.x;
  sums[t] = x[t];
  __syncthreads();
  if (t < 32) {
    float mine = sums[t];
    for (unsigned step = 32; step > 0; step >>= 1) {
      mine += sums[t + step];
      __syncwarp();
      sums[t] = mine;
      __syncwarp();
    }
    if (t == 0) *out = mine;
  }
}

KERNEL_CASE(reductions_of_warps) {
  suite::Buffer<float> x(suite::made(64, [](size_t i) { return static_cast<float>(i) / 4; })),
      out(size_t{1});
  ends_in_a_warp<<<1, 64>>>(x, out);
  suite::check("sum", out.read(), std::vector<float>{504});
}

__global__ void wide_atomics(double* d, unsigned long long* u, long long* l, unsigned short* s) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(d, 0.25);
  atomicMax(&u[0], static_cast<unsigned long long>(t) << 33);
  atomicMin(&u[1], static_cast<unsigned long long>(t) + (1ull << 40));
  atomicOr(&u[2], 1ull << t % 64);
  atomicAnd(&u[3], ~(1ull << t % 32));
  atomicXor(&u[4], 1ull << 50);
  atomicMax(&l[0], -static_cast<long long>(t));
  atomicMin(&l[1], -static_cast<long long>(t));
  unsigned long long old = atomicAdd(&u[5], 0ull), seen;
  do {
    seen = old;
    old = atomicCAS(&u[5], seen, seen + 5);
  } while (old != seen);
  if (t == 0) atomicExch(&u[6], 77ull << 32);
  unsigned short short_old =
                     atomicCAS(s, static_cast<unsigned short>(0), static_cast<unsigned short>(0)),
                 short_seen;
  do {
    short_seen = short_old;
    short_old = atomicCAS(s, short_seen, static_cast<unsigned short>(short_seen + 1));
  } while (short_old != short_seen);
}

KERNEL_CASE(atomics_of_64_and_16_bits) {
  suite::Buffer<double> d(size_t{1});
  suite::Buffer<unsigned long long> u(std::vector<unsigned long long>{0, ~0ull, 0, ~0ull, 0, 0, 0});
  suite::Buffer<long long> l(std::vector<long long>{-100, 100});
  suite::Buffer<unsigned short> s(size_t{1});
  wide_atomics<<<2, 50>>>(d, u, l, s);
  suite::check("doubles", d.read(), std::vector<double>{25});
  std::vector<unsigned long long> halves;  // 64 bits are more than a double compares
  for (const unsigned long long value : u.read()) {
    halves.push_back(value >> 32);
    halves.push_back(value & 0xffffffff);
  }
  suite::check("words", halves,
               std::vector<unsigned long long>{99 * 2, 0, 256, 0, 0xffffffff, 0xffffffff,
                                               0xffffffff, 0, 0, 0, 0, 500, 77, 0});
  suite::check("signed", l.read(), std::vector<long long>{0, -99});
  suite::check("shorts", s.read(), std::vector<int>{100});
}

// The maximum of floats by atomicCAS on their bits.
__device__ float atomic_max(float* place, float value) {
  int* const bits = reinterpret_cast<int*>(place);
  int old = atomicAdd(bits, 0), seen;
  do {
    seen = old;
    if (__int_as_float(seen) >= value) break;
    old = atomicCAS(bits, seen, __float_as_int(value));
  } while (old != seen);
  return __int_as_float(old);
}
__global__ void maxima(const float* x, int n, float* out) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomic_max(out, x[i]);
}

KERNEL_CASE(atomics_by_exchange) {
  suite::Buffer<float> x(
      suite::made(1000, [](size_t i) { return static_cast<float>(i * 379 % 1000) - 500.5f; })),
      out(std::vector<float>{-INFINITY});
  maxima<<<3, 64>>>(x, 1000, out);
  suite::check("greatest", out.read(), std::vector<float>{498.5f});
}
