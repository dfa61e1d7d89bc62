/// Groups of threads that work together: blocks and tiles of warps. What takes all blocks of a grid
/// at once, or several blocks on one multiprocessor, is refused.
#pragma once
#pragma GCC system_header

#include <cuda_runtime.h>

#include "tenon/hostcuda/cuda.h"

namespace cooperative_groups {

namespace detail {
using tenon::hostcuda::here;
using tenon::hostcuda::Site;
}  // namespace detail

/// All threads of a block.
struct thread_block {
  void sync(detail::Site site = detail::here()) const { tenon::hostcuda::barrier(true, site); }
  void barrier_arrive() const {}
  static unsigned thread_rank() { return tenon::hostcuda::thread_number(); }
  static unsigned size() { return tenon::hostcuda::current_block().threads; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() {
    const uint3 index = tenon::hostcuda::block_index();
    return {index.x, index.y, index.z};
  }
  static dim3 thread_index() {
    const uint3 index = tenon::hostcuda::thread_index();
    return {index.x, index.y, index.z};
  }
  static dim3 group_dim() { return tenon::hostcuda::block_size(); }
  static dim3 dim_threads() { return tenon::hostcuda::block_size(); }
};
inline thread_block this_thread_block() {
  return {};
}

/// `size` neighbours of a warp.
template <unsigned lanes, class Parent = thread_block> class thread_block_tile {
  static_assert(lanes <= 32 && (lanes & (lanes - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads");
  using Site = detail::Site;
  static constexpr int kLanes = static_cast<int>(lanes);
  static unsigned first() { return tenon::hostcuda::thread_number() % 32 / lanes * lanes; }
  static unsigned mask() { return (lanes == 32 ? ~0u : (1u << lanes % 32) - 1) << first(); }

 public:
  void sync(Site site = detail::here()) const { __syncwarp(mask(), site); }
  static unsigned thread_rank() { return tenon::hostcuda::thread_number() % lanes; }
  static constexpr unsigned size() { return lanes; }
  static constexpr unsigned num_threads() { return lanes; }
  static unsigned meta_group_rank() { return tenon::hostcuda::thread_number() / lanes; }
  static unsigned meta_group_size() {
    return (tenon::hostcuda::current_block().threads + lanes - 1) / lanes;
  }
  template <class T> T shfl(T value, int from, Site site = detail::here()) const {
    return __shfl_sync(mask(), value, from, kLanes, site);
  }
  template <class T> T shfl_up(T value, unsigned distance, Site site = detail::here()) const {
    return __shfl_up_sync(mask(), value, distance, kLanes, site);
  }
  template <class T> T shfl_down(T value, unsigned distance, Site site = detail::here()) const {
    return __shfl_down_sync(mask(), value, distance, kLanes, site);
  }
  template <class T> T shfl_xor(T value, int bits, Site site = detail::here()) const {
    return __shfl_xor_sync(mask(), value, bits, kLanes, site);
  }
  int any(int vote, Site site = detail::here()) const { return __any_sync(mask(), vote, site); }
  int all(int vote, Site site = detail::here()) const { return __all_sync(mask(), vote, site); }
  unsigned ballot(int vote, Site site = detail::here()) const {
    return __ballot_sync(mask(), vote, site) >> first();
  }
  template <class T> unsigned match_any(T value, Site site = detail::here()) const {
    return __match_any_sync(mask(), value, site) >> first();
  }
};
template <unsigned lanes, class Parent>
thread_block_tile<lanes, Parent> tiled_partition(const Parent&) {
  return {};
}

/// Threads that are at one place together. Which they are is up to the machine: here, each thread
/// is alone.
struct coalesced_group {
  void sync() const {}
  static unsigned thread_rank() { return 0; }
  static unsigned size() { return 1; }
  static unsigned num_threads() { return 1; }
  template <class T> T shfl(T value, int) const { return value; }
  template <class T> T shfl_up(T value, int) const { return value; }
  template <class T> T shfl_down(T value, int) const { return value; }
  int any(int vote) const { return vote != 0; }
  int all(int vote) const { return vote != 0; }
  unsigned ballot(int vote) const { return vote != 0; }
};
inline coalesced_group coalesced_threads() {
  return {};
}

/// All threads of all blocks: their places alone. They do not run at once.
struct grid_group {
  static unsigned long long thread_rank() {
    const uint3 b = tenon::hostcuda::block_index();
    const dim3 grid = tenon::hostcuda::grid_size();
    return (b.x + grid.x * (b.y + 1ull * grid.y * b.z)) * thread_block::size()
           + thread_block::thread_rank();
  }
  static unsigned long long size() {
    const dim3 grid = tenon::hostcuda::grid_size();
    return 1ull * grid.x * grid.y * grid.z * thread_block::size();
  }
  static unsigned long long num_threads() { return size(); }
  static bool is_valid() { return false; }
  static dim3 group_dim() { return tenon::hostcuda::grid_size(); }
  __attribute__((
      error("grid_group::sync: a barrier of all blocks cannot be compiled for the CPU"))) void
  sync() const;
};
inline grid_group this_grid() {
  return {};
}
__attribute__((error("this_cluster: clusters of blocks cannot be compiled for the CPU"))) grid_group
this_cluster();

template <class Group>
auto sync(const Group& group, detail::Site site = detail::here()) -> decltype(group.sync(site)) {
  group.sync(site);
}

// Of cooperative_groups/reduce.h.
template <class T> struct plus {
  T operator()(const T& a, const T& b) const { return a + b; }
};
template <class T> struct less {
  T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <class T> struct greater {
  T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <unsigned lanes, class Parent, class T, class F>
T reduce(const thread_block_tile<lanes, Parent>& tile, T value, F combine,
         detail::Site site = detail::here()) {
  for (unsigned step = lanes / 2; step > 0; step /= 2)
    value = combine(value, tile.shfl_xor(value, static_cast<int>(step), site));
  return value;
}
template <class T, class F> T reduce(const coalesced_group&, T value, F) {
  return value;
}

}  // namespace cooperative_groups
