// CUB: what the threads of a block or of a warp do together, and sorts of the device.
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

struct Greater {
  __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

// Items of a thread lie side by side after the load, and apart after the exchange.
template <int threads, int items>
__global__ void items_of_a_block(const int* in, int count, int* out) {
  using Load = cub::BlockLoad<int, threads, items, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, threads, items, cub::BLOCK_STORE_DIRECT>;
  using Exchange = cub::BlockExchange<int, threads, items>;
  using Reduce = cub::BlockReduce<int, threads, cub::BLOCK_REDUCE_RAKING>;
  using Scan = cub::BlockScan<int, threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Load::TempStorage load;
  __shared__ typename Store::TempStorage store;
  __shared__ typename Exchange::TempStorage exchange;
  __shared__ typename Reduce::TempStorage reduce;
  __shared__ typename Scan::TempStorage scan;
  int mine[items], scanned[items];
  Load(load).Load(in, mine, count, -1);
  const int greatest = Reduce(reduce).Reduce(mine, Greater());
  Scan(scan).InclusiveScan(mine, scanned, Greater());
  Exchange(exchange).BlockedToStriped(mine);
  Store(store).Store(out, mine, count);
  __syncthreads();
  Store(store).Store(out + threads * items, scanned);
  if (threadIdx.x == 0) out[2 * threads * items] = greatest;
}

KERNEL_CASE(items_of_blocks) {
  constexpr int kThreads = 32, kItems = 3, kAll = kThreads * kItems, kCount = 90;
  const auto value = [](int i) { return i < kCount ? i * 41 % 97 : -1; };
  suite::Buffer<int> in(suite::made(kCount, [&](size_t i) { return value(static_cast<int>(i)); })),
      out(size_t{2 * kAll + 1});
  items_of_a_block<kThreads, kItems><<<1, kThreads>>>(in, kCount, out);
  // Thread t stores, at t * kItems + i, what lay at i * kThreads + t.
  std::vector<int> want(2 * kAll + 1);
  int greatest = -1;
  for (int t = 0; t < kThreads; ++t)
    for (int i = 0; i < kItems; ++i) {
      const int place = t * kItems + i;
      greatest = std::max(greatest, value(place));
      if (place < kCount) want[static_cast<size_t>(place)] = value(i * kThreads + t);
      want[static_cast<size_t>(kAll + place)] = greatest;
    }
  want[2 * kAll] = greatest;
  suite::check("items", out.read(), want);
}

__global__ void parts_of_warps(int* out) {
  using Reduce = cub::WarpReduce<int, 8>;
  using Scan = cub::WarpScan<int, 16>;
  __shared__ typename Reduce::TempStorage reduce[4];
  __shared__ typename Scan::TempStorage scan[2];
  const int lane = threadIdx.x;
  const int greatest = Reduce(reduce[lane / 8]).Reduce(lane * 5 % 32, Greater());
  int before = 0;
  Scan(scan[lane / 16]).ExclusiveSum(lane, before);
  if (lane % 8 == 0) out[lane / 8] = greatest;
  out[4 + lane] = before;
}

KERNEL_CASE(collectives_of_parts) {
  suite::Buffer<int> out(size_t{36});
  parts_of_warps<<<1, 32>>>(out);
  std::vector<int> want(4);
  for (int lane = 0; lane < 32; ++lane) {
    int& greatest = want[static_cast<size_t>(lane / 8)];
    greatest = std::max(greatest, lane * 5 % 32);
    int before = 0;
    for (int i = lane / 16 * 16; i < lane; ++i) before += i;
    want.push_back(before);
  }
  suite::check("parts", out.read(), want);
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
