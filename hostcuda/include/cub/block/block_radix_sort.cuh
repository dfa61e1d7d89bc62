/// Sorting of a block's items.
#pragma once
#pragma GCC system_header

#include "cub/collective.cuh"
#include "cub/sort.cuh"

namespace cub {

template <class K, int x, int items, class V = NullType, int radix_bits = 4, bool memoizes = true,
          int scan_algorithm = 0, int bank_size = 0, int y = 1, int z = 1>
class BlockRadixSort {
  static constexpr int kThreads = x * y * z;
  using Site = collective::Site;

 public:
  struct TempStorage {
    K keys[kThreads * items];
    V values[kThreads * items];
  };
  explicit BlockRadixSort(TempStorage& storage) : storage_(storage) {}

  void Sort(K (&keys)[items], int begin = 0, int end = sizeof(K) * 8,
            Site site = collective::here()) {
    sort(keys, nullptr, false, false, begin, end, site);
  }
  void Sort(K (&keys)[items], V (&values)[items], int begin = 0, int end = sizeof(K) * 8,
            Site site = collective::here()) {
    sort(keys, values, false, false, begin, end, site);
  }
  void SortDescending(K (&keys)[items], int begin = 0, int end = sizeof(K) * 8,
                      Site site = collective::here()) {
    sort(keys, nullptr, true, false, begin, end, site);
  }
  void SortDescending(K (&keys)[items], V (&values)[items], int begin = 0, int end = sizeof(K) * 8,
                      Site site = collective::here()) {
    sort(keys, values, true, false, begin, end, site);
  }
  void SortBlockedToStriped(K (&keys)[items], V (&values)[items], int begin = 0,
                            int end = sizeof(K) * 8, Site site = collective::here()) {
    sort(keys, values, false, true, begin, end, site);
  }
  void SortDescendingBlockedToStriped(K (&keys)[items], V (&values)[items], int begin = 0,
                                      int end = sizeof(K) * 8, Site site = collective::here()) {
    sort(keys, values, true, true, begin, end, site);
  }

 private:
  void sort(K* keys, V* values, bool is_descending, bool is_striped, int begin, int end,
            Site site) {
    const auto place = static_cast<int>(collective::Block::place());
    for (int i = 0; i < items; ++i) {
      storage_.keys[place * items + i] = keys[i];
      if (values) storage_.values[place * items + i] = values[i];
    }
    collective::Block::wait(site);
    if (place == 0)
      sorting::sort<K, V>(storage_.keys, storage_.keys, values ? storage_.values : nullptr,
                          storage_.values, kThreads * items, is_descending, begin, end);
    collective::Block::wait(site);
    for (int i = 0; i < items; ++i) {
      const int from = is_striped ? i * kThreads + place : place * items + i;
      keys[i] = storage_.keys[from];
      if (values) values[i] = storage_.values[from];
    }
  }

  TempStorage& storage_;
};

}  // namespace cub
