/// Scans of a block.
#pragma once
#pragma GCC system_header

#include "cub/collective.cuh"

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

/// Scans of threads or lanes; `Group` says whose.
template <class Group, class T, int threads> class ScanOf {
  using Site = collective::Site;

 public:
  using TempStorage = collective::Storage<T, threads>;
  explicit ScanOf(TempStorage& storage) : storage_(storage) {}

  void InclusiveSum(T mine, T& out, Site site = collective::here()) {
    scan(mine, out, cub::Sum(), true, nullptr, site);
  }
  void InclusiveSum(T mine, T& out, T& total, Site site = collective::here()) {
    total = scan(mine, out, cub::Sum(), true, nullptr, site);
  }
  void ExclusiveSum(T mine, T& out, Site site = collective::here()) {
    const T zero{};
    scan(mine, out, cub::Sum(), false, &zero, site);
  }
  void ExclusiveSum(T mine, T& out, T& total, Site site = collective::here()) {
    const T zero{};
    total = scan(mine, out, cub::Sum(), false, &zero, site);
  }
  template <class F> void InclusiveScan(T mine, T& out, F combine, Site site = collective::here()) {
    scan(mine, out, combine, true, nullptr, site);
  }
  template <class F>
  void InclusiveScan(T mine, T& out, F combine, T& total, Site site = collective::here()) {
    total = scan(mine, out, combine, true, nullptr, site);
  }
  template <class F>
  void ExclusiveScan(T mine, T& out, T first, F combine, Site site = collective::here()) {
    scan(mine, out, combine, false, &first, site);
  }
  template <class F>
  void ExclusiveScan(T mine, T& out, T first, F combine, T& total, Site site = collective::here()) {
    total = scan(mine, out, combine, false, &first, site);
  }

  // Several items of each thread.
  template <int items>
  void InclusiveSum(T (&mine)[items], T (&out)[items], Site site = collective::here()) {
    scan_items(mine, out, cub::Sum(), true, nullptr, site);
  }
  template <int items>
  void InclusiveSum(T (&mine)[items], T (&out)[items], T& total, Site site = collective::here()) {
    total = scan_items(mine, out, cub::Sum(), true, nullptr, site);
  }
  template <int items>
  void ExclusiveSum(T (&mine)[items], T (&out)[items], Site site = collective::here()) {
    const T zero{};
    scan_items(mine, out, cub::Sum(), false, &zero, site);
  }
  template <int items>
  void ExclusiveSum(T (&mine)[items], T (&out)[items], T& total, Site site = collective::here()) {
    const T zero{};
    total = scan_items(mine, out, cub::Sum(), false, &zero, site);
  }
  template <int items, class F>
  void InclusiveScan(T (&mine)[items], T (&out)[items], F combine, Site site = collective::here()) {
    scan_items(mine, out, combine, true, nullptr, site);
  }
  template <int items, class F>
  void ExclusiveScan(T (&mine)[items], T (&out)[items], T first, F combine,
                     Site site = collective::here()) {
    scan_items(mine, out, combine, false, &first, site);
  }

 protected:
  template <class F>
  T scan(T mine, T& out, F combine, bool is_inclusive, const T* first, Site site) {
    const T one[1] = {mine};
    T result[1];
    const T total =
        collective::scan<Group>(storage_, one, result, combine, is_inclusive, first, site);
    out = result[0];
    return total;
  }
  template <int items, class F>
  T scan_items(T (&mine)[items], T (&out)[items], F combine, bool is_inclusive, const T* first,
               Site site) {
    T sum = mine[0], before{};
    for (int i = 1; i < items; ++i) sum = combine(sum, mine[i]);
    const T total = scan(sum, before, combine, false, first, site);
    bool has_before = first != nullptr || Group::place() > 0;
    for (int i = 0; i < items; ++i) {
      const T after = has_before ? combine(before, mine[i]) : mine[i];
      out[i] = is_inclusive ? after : before;
      before = after;
      has_before = true;
    }
    return total;
  }

  TempStorage& storage_;
};

template <class T, int x, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int y = 1, int z = 1>
class BlockScan : public ScanOf<collective::Block, T, x * y * z> {
  using Base = ScanOf<collective::Block, T, x * y * z>;

 public:
  using Base::Base;
  using Base::ExclusiveSum;
  using Base::InclusiveSum;

  /// `prefix(total)` gives, in the first warp, what comes before the block.
  template <class Prefix>
  void InclusiveSum(T mine, T& out, Prefix& prefix, collective::Site site = collective::here()) {
    const T total = this->scan(mine, out, cub::Sum(), true, nullptr, site);
    add_prefix(out, total, prefix, site);
  }
  template <class Prefix>
  void ExclusiveSum(T mine, T& out, Prefix& prefix, collective::Site site = collective::here()) {
    const T zero{};
    const T total = this->scan(mine, out, cub::Sum(), false, &zero, site);
    add_prefix(out, total, prefix, site);
  }

 private:
  template <class Prefix>
  void add_prefix(T& out, const T& total, Prefix& prefix, collective::Site site) {
    collective::Block::wait(site);
    if (collective::Block::place() < 32) {
      const T before = prefix(total);
      if (collective::Block::place() == 0) this->storage_.total = before;
    }
    collective::Block::wait(site);
    out = this->storage_.total + out;
  }
};

}  // namespace cub
