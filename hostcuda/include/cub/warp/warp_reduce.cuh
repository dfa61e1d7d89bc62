/// Reductions of a warp.
#pragma once
#pragma GCC system_header

#include "cub/collective.cuh"

namespace cub {

template <class T, int lanes = 32> class WarpReduce {
  using Site = collective::Site;

 public:
  using TempStorage = collective::Storage<T, lanes>;
  explicit WarpReduce(TempStorage& storage) : storage_(storage) {}

  template <class F> T Reduce(T mine, F combine, Site site = collective::here()) {
    return Reduce(mine, combine, lanes, site);
  }
  template <class F> T Reduce(T mine, F combine, int count, Site site = collective::here()) {
    const T one[1] = {mine};
    return collective::reduce<collective::Warp<lanes>>(storage_, one, combine, count, site);
  }
  T Sum(T mine, Site site = collective::here()) { return Reduce(mine, cub::Sum(), lanes, site); }
  T Sum(T mine, int count, Site site = collective::here()) {
    return Reduce(mine, cub::Sum(), count, site);
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
