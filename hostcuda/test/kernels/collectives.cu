// CUB and Thrust.
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

#include <cub/cub.cuh>

#include "suite.h"

template <int threads> __global__ void of_a_block(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, threads>;
  using Scan = cub::BlockScan<int, threads>;
  using Sort = cub::BlockRadixSort<int, threads, 2, int>;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
    typename Sort::TempStorage sort;
  } storage;
  const int t = threadIdx.x;
  const int sum = Reduce(storage.reduce).Sum(in[t]);
  if (t == 0) out[0] = sum;
  __syncthreads();
  int before = 0, total = 0;
  Scan(storage.scan).ExclusiveSum(in[t], before, total);
  out[1 + t] = before;
  if (t == 0) out[1 + threads] = total;
  __syncthreads();
  int keys[2] = {in[2 * t % threads], in[(2 * t + 1) % threads]}, values[2] = {2 * t, 2 * t + 1};
  Sort(storage.sort).SortDescending(keys, values);
  for (int i = 0; i < 2; ++i) {
    out[2 + threads + 2 * t + i] = keys[i];
    out[2 + 3 * threads + 2 * t + i] = values[i];
  }
}

KERNEL_CASE(collectives_of_a_block) {
  constexpr int kThreads = 64;
  const auto value = [](int t) { return t * 37 % 50 - 20; };
  suite::Buffer<int> in(
      suite::made(kThreads, [&](size_t i) { return value(static_cast<int>(i)); }));
  suite::Buffer<int> out(size_t{2 + 5 * kThreads});
  of_a_block<kThreads><<<1, kThreads>>>(in, out);
  std::vector<int> want(1), order;
  for (int t = 0; t < kThreads; ++t) {
    want.push_back(want[0]);
    want[0] += value(t);
  }
  want.push_back(want[0]);
  for (int i = 0; i < 2 * kThreads; ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return value(a % kThreads) > value(b % kThreads); });
  for (const int i : order) want.push_back(value(i % kThreads));
  for (const int i : order) want.push_back(i);
  suite::check("block", out.read(), want);
}

__global__ void of_a_warp(int* out) {
  using Reduce = cub::WarpReduce<int>;
  using Scan = cub::WarpScan<int>;
  __shared__ typename Reduce::TempStorage reduce[2];
  __shared__ typename Scan::TempStorage scan[2];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int sum = Reduce(reduce[warp]).Sum(lane + warp);
  if (lane == 0) out[warp] = sum;
  int inclusive = 0;
  Scan(scan[warp]).InclusiveSum(lane, inclusive);
  out[2 + threadIdx.x] = inclusive;
}

KERNEL_CASE(collectives_of_warps) {
  suite::Buffer<int> out(size_t{66});
  of_a_warp<<<1, 64>>>(out);
  suite::check("warps", out.read(), suite::made(66, [](size_t i) {
                 const int lane = static_cast<int>(i - 2) % 32;
                 return i < 2 ? 496 + 32 * static_cast<int>(i) : lane * (lane + 1) / 2;
               }));
}

KERNEL_CASE(sorts_of_the_device) {
  suite::Buffer<float> keys(std::vector<float>{3, -1, -0.f, 2, 0, 7, -5, 7}), keys_out(size_t{8});
  suite::Buffer<int> values(suite::made(8, [](size_t i) { return static_cast<int>(i); })),
      values_out(size_t{8});
  size_t bytes = 0;
  const auto sort = [&](void* storage) {
    suite::require(
        cub::DeviceRadixSort::SortPairsDescending(storage, bytes, keys.data(), keys_out.data(),
                                                  values.data(), values_out.data(), 8),
        "SortPairs");
  };
  sort(nullptr);
  suite::Buffer<char> storage(bytes);
  sort(storage.data());
  suite::check("descending", values_out.read(), std::vector<int>{5, 7, 0, 3, 2, 4, 1, 6});
  suite::Buffer<int> offsets(std::vector<int>{0, 3, 3, 8});
  const auto segments = [&](void* memory) {
    suite::require(cub::DeviceSegmentedRadixSort::SortPairs(
                       memory, bytes, keys.data(), keys_out.data(), values.data(),
                       values_out.data(), 8, 3, offsets.data(), offsets.data() + 1),
                   "segments");
  };
  segments(nullptr);
  suite::Buffer<char> more(bytes);
  segments(more.data());
  suite::check("segments", values_out.read(), std::vector<int>{1, 2, 0, 6, 4, 3, 5, 7});
}

KERNEL_CASE(algorithms_of_thrust) {
  cudaStream_t stream = nullptr;
  suite::require(cudaStreamCreate(&stream), "cudaStreamCreate");
  suite::Buffer<int> values(std::vector<int>{4, 1, 3, 2});
  const auto policy = thrust::cuda::par.on(stream);
  const int total =
      thrust::reduce(policy, values.data(), values.data() + 4, 10, thrust::plus<int>());
  thrust::sort(policy, values.data(), values.data() + 3);
  thrust::fill_n(policy, values.data() + 3, 1, 9);
  cudaStreamSynchronize(stream);
  std::vector<int> got = values.read();
  got.push_back(total);
  suite::check("thrust", got, std::vector<int>{1, 3, 4, 9, 20});
}
