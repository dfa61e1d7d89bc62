/// What threads of a block or lanes of a warp compute together: each brings its items, one
/// computes, and all take what is theirs. The barriers are real ones, and there is none behind the
/// last read, so that a missing one in the caller shows.
#pragma once
#pragma GCC system_header

#include <algorithm>
#include <utility>

#include "cub/operators.cuh"
#include "tenon/hostcuda/warp.h"

namespace cub::collective {

using tenon::hostcuda::here;
using tenon::hostcuda::Site;

/// The threads of a block, or `lanes` of a warp, that share memory.
struct Block {
  static unsigned place() { return tenon::hostcuda::thread_number(); }
  static void wait(Site site) { tenon::hostcuda::barrier(true, site); }
};
template <int lanes> struct Warp {
  static unsigned place() { return tenon::hostcuda::thread_number() % lanes; }
  static void wait(Site site) {
    const unsigned first = tenon::hostcuda::thread_number() % 32 / lanes * lanes;
    tenon::hostcuda::exchange((lanes == 32 ? ~0u : (1u << lanes) - 1) << first, 0, site);
  }
};

template <class T, int threads, int items = 1> struct Storage {
  T item[static_cast<std::size_t>(threads) * items];
  T total;
};

/// Reduction of the first `count` threads' items.
template <class Group, class T, int threads, int items, class F>
T reduce(Storage<T, threads, items>& storage, const T (&mine)[items], F combine, int count,
         Site site) {
  const auto place = static_cast<int>(Group::place());
  for (int i = 0; i < items; ++i) storage.item[place * items + i] = mine[i];
  Group::wait(site);
  if (place == 0) {
    T total = storage.item[0];
    for (int i = 1; i < std::min(count, threads) * items; ++i)
      total = combine(total, storage.item[i]);
    storage.total = total;
  }
  Group::wait(site);
  return storage.total;
}

/// Scan of all items; `first` is null for one without a value in front. Returns the total.
template <class Group, class T, int threads, int items, class F>
T scan(Storage<T, threads, items>& storage, const T (&mine)[items], T (&out)[items], F combine,
       bool is_inclusive, const T* first, Site site) {
  const auto place = static_cast<int>(Group::place());
  for (int i = 0; i < items; ++i) storage.item[place * items + i] = mine[i];
  Group::wait(site);
  if (place == 0) {
    T total = storage.item[0];
    T before = first ? *first : T{};
    bool has_before = first != nullptr;
    for (int i = 0; i < threads * items; ++i) {
      const T item = storage.item[i];
      total = i == 0 ? item : combine(total, item);
      const T after = has_before ? combine(before, item) : item;
      storage.item[i] = is_inclusive ? after : before;
      before = after;
      has_before = true;
    }
    storage.total = total;
  }
  Group::wait(site);
  for (int i = 0; i < items; ++i) out[i] = storage.item[place * items + i];
  return storage.total;
}

}  // namespace cub::collective
