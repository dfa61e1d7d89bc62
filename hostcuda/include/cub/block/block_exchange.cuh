/// Loads, stores and exchanges of a block's items.
#pragma once
#pragma GCC system_header

#include "cub/collective.cuh"

namespace cub {

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE
};

template <class T, int x, int items, bool = false, int y = 1, int z = 1> class BlockExchange {
  static constexpr int kThreads = x * y * z;
  using Site = collective::Site;

 public:
  using TempStorage = collective::Storage<T, kThreads, items>;
  explicit BlockExchange(TempStorage& storage) : storage_(storage) {}

  void BlockedToStriped(T (&in)[items], T (&out)[items], Site site = collective::here()) {
    exchange(in, out, false, site);
  }
  void BlockedToStriped(T (&values)[items], Site site = collective::here()) {
    exchange(values, values, false, site);
  }
  void StripedToBlocked(T (&in)[items], T (&out)[items], Site site = collective::here()) {
    exchange(in, out, true, site);
  }
  void StripedToBlocked(T (&values)[items], Site site = collective::here()) {
    exchange(values, values, true, site);
  }

 private:
  void exchange(const T* in, T* out, bool from_striped, Site site) {
    const auto place = static_cast<int>(collective::Block::place());
    for (int i = 0; i < items; ++i)
      storage_.item[from_striped ? i * kThreads + place : place * items + i] = in[i];
    collective::Block::wait(site);
    for (int i = 0; i < items; ++i)
      out[i] = storage_.item[from_striped ? place * items + i : i * kThreads + place];
  }
  TempStorage& storage_;
};

template <class T, int x, int items, BlockLoadAlgorithm algorithm = BLOCK_LOAD_DIRECT, int y = 1,
          int z = 1>
class BlockLoad {
 public:
  struct TempStorage {};
  BlockLoad() = default;
  explicit BlockLoad(TempStorage&) {}
  template <class It> void Load(It from, T (&mine)[items]) { Load(from, mine, x * y * z * items); }
  template <class It> void Load(It from, T (&mine)[items], int count) {
    for (int i = 0; i < items; ++i)
      if (place(i) < count) mine[i] = from[place(i)];
  }
  template <class It, class D> void Load(It from, T (&mine)[items], int count, D otherwise) {
    for (int i = 0; i < items; ++i)
      mine[i] = place(i) < count ? static_cast<T>(from[place(i)]) : static_cast<T>(otherwise);
  }

 private:
  static int place(int i) {
    const auto thread = static_cast<int>(collective::Block::place());
    return algorithm == BLOCK_LOAD_STRIPED ? i * x * y * z + thread : thread * items + i;
  }
};

template <class T, int x, int items, BlockStoreAlgorithm algorithm = BLOCK_STORE_DIRECT, int y = 1,
          int z = 1>
class BlockStore {
 public:
  struct TempStorage {};
  BlockStore() = default;
  explicit BlockStore(TempStorage&) {}
  template <class It> void Store(It to, T (&mine)[items]) { Store(to, mine, x * y * z * items); }
  template <class It> void Store(It to, T (&mine)[items], int count) {
    const auto thread = static_cast<int>(collective::Block::place());
    for (int i = 0; i < items; ++i) {
      const int at = algorithm == BLOCK_STORE_STRIPED ? i * x * y * z + thread : thread * items + i;
      if (at < count) to[at] = mine[i];
    }
  }
};

}  // namespace cub
