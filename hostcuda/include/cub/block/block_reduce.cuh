/// Reductions of a block. Every thread gets the result; CUB promises it to the first alone.
#pragma once
#pragma GCC system_header

#include "cub/collective.cuh"

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
};

template <class T, int x, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int y = 1, int z = 1>
class BlockReduce {
  static constexpr int kThreads = x * y * z;
  using Site = collective::Site;

 public:
  using TempStorage = collective::Storage<T, kThreads>;
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  template <class F> T Reduce(T mine, F combine, Site site = collective::here()) {
    return Reduce(mine, combine, kThreads, site);
  }
  template <class F> T Reduce(T mine, F combine, int count, Site site = collective::here()) {
    const T one[1] = {mine};
    return collective::reduce<collective::Block>(storage_, one, combine, count, site);
  }
  template <int items, class F>
  T Reduce(T (&mine)[items], F combine, Site site = collective::here()) {
    T total = mine[0];
    for (int i = 1; i < items; ++i) total = combine(total, mine[i]);
    return Reduce(total, combine, kThreads, site);
  }
  T Sum(T mine, Site site = collective::here()) { return Reduce(mine, cub::Sum(), kThreads, site); }
  T Sum(T mine, int count, Site site = collective::here()) {
    return Reduce(mine, cub::Sum(), count, site);
  }
  template <int items> T Sum(T (&mine)[items], Site site = collective::here()) {
    return Reduce(mine, cub::Sum(), site);
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
