/// Scans of a warp.
#pragma once
#pragma GCC system_header

#include "cub/block/block_scan.cuh"

namespace cub {

template <class T, int lanes = 32>
class WarpScan : public ScanOf<collective::Warp<lanes>, T, lanes> {
 public:
  using ScanOf<collective::Warp<lanes>, T, lanes>::ScanOf;

  T Broadcast(T mine, unsigned from, collective::Site site = collective::here()) {
    if (collective::Warp<lanes>::place() == from) this->storage_.total = mine;
    collective::Warp<lanes>::wait(site);
    return this->storage_.total;
  }
};

}  // namespace cub
