// Cooperative groups: blocks, tiles of warps, and threads that came together.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "suite.h"

namespace cg = cooperative_groups;

__global__ void of_tiles(const int* x, int* out) {
  const cg::thread_block block = cg::this_thread_block();
  __shared__ int sums[8];
  const auto tile = cg::tiled_partition<8>(block);
  const auto warp = cg::tiled_partition<32>(block);
  const int mine = x[block.thread_rank()];
  int sum = mine;
  for (unsigned step = tile.size() / 2; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
  if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = sum;
  block.sync();
  int* const place = out + block.thread_rank() * 6;
  place[0] = sums[7 - tile.meta_group_rank()];
  place[1] = cg::reduce(warp, mine, cg::greater<int>());
  place[2] = static_cast<int>(tile.ballot(mine % 2)) + 1000 * tile.any(mine > 60);
  place[3] = tile.shfl(mine, 3) + 1000 * tile.shfl_xor(mine, 1);
  place[4] = cg::reduce(tile, mine, cg::plus<int>());
  place[5] = static_cast<int>(block.size() + 1000 * tile.meta_group_size());
  cg::sync(block);
}

KERNEL_CASE(tiles_of_blocks) {
  const std::vector<int> values =
      suite::made(64, [](size_t i) { return static_cast<int>(i * 37 % 64); });
  suite::Buffer<int> x(values), out(size_t{64 * 6});
  of_tiles<<<1, 64>>>(x, out);
  std::vector<int> want, sums;
  for (size_t first = 0; first < 64; first += 8) {
    int sum = 0;
    for (size_t i = 0; i < 8; ++i) sum += values[first + i];
    sums.push_back(sum);
  }
  for (size_t i = 0; i < 64; ++i) {
    const size_t tile = i / 8, warp = i / 32 * 32;
    int odd = 0, has_large = 0;
    for (size_t k = 0; k < 8; ++k) {
      odd |= values[tile * 8 + k] % 2 << k;
      has_large |= values[tile * 8 + k] > 60;
    }
    const auto* const first = &values[warp];
    for (const int w :
         {sums[7 - tile], *std::max_element(first, first + 32), odd + 1000 * has_large,
          values[tile * 8 + 3] + 1000 * values[i ^ 1], sums[tile], 64 + 8000})
      want.push_back(w);
  }
  suite::check("values", out.read(), want);
}

// Aggregated atomics, as they are written with coalesced groups.
__global__ void kept_together(const int* x, int n, int* out, int* count) {
  const auto i = static_cast<int>(cg::this_grid().thread_rank());
  if (i >= n || x[i] % 3 != 0) return;
  const auto active = cg::coalesced_threads();
  int first = 0;
  if (active.thread_rank() == 0) first = atomicAdd(count, static_cast<int>(active.size()));
  out[active.shfl(first, 0) + static_cast<int>(active.thread_rank())] = x[i];
}

KERNEL_CASE(coalesced_groups) {
  suite::Buffer<int> x(suite::made(100, [](size_t i) { return static_cast<int>(i * 7 % 100); })),
      out(size_t{100}), count(size_t{1});
  kept_together<<<2, 64>>>(x, 100, out, count);
  std::vector<int> got = out.read();
  got.resize(static_cast<size_t>(count.read()[0]));
  std::sort(got.begin(), got.end());
  suite::check("kept", got, suite::made(34, [](size_t i) { return static_cast<int>(3 * i); }));
}
