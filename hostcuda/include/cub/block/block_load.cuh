/// Loads and stores of one thread's items, which lie in a row, or one in each row of `threads`; of
/// places from `count` on nothing is read or written.
#pragma once
#pragma GCC system_header

#include <climits>

#include "cub/block/block_exchange.cuh"

namespace cub {

template <class T, int items, class It>
void LoadDirectBlocked(int thread, It from, T (&mine)[items], int count = INT_MAX) {
  for (int i = 0, at = thread * items; i < items; ++i, ++at)
    if (at < count) mine[i] = from[at];
}
template <class T, int items, class It, class D>
void LoadDirectBlocked(int thread, It from, T (&mine)[items], int count, D otherwise) {
  for (T& item : mine) item = static_cast<T>(otherwise);
  LoadDirectBlocked(thread, from, mine, count);
}
template <class T, int items, class It>
void StoreDirectBlocked(int thread, It to, T (&mine)[items], int count = INT_MAX) {
  for (int i = 0, at = thread * items; i < items; ++i, ++at)
    if (at < count) to[at] = mine[i];
}

template <int threads, class T, int items, class It>
void LoadDirectStriped(int thread, It from, T (&mine)[items], int count = INT_MAX) {
  for (int i = 0, at = thread; i < items; ++i, at += threads)
    if (at < count) mine[i] = from[at];
}
template <int threads, class T, int items, class It, class D>
void LoadDirectStriped(int thread, It from, T (&mine)[items], int count, D otherwise) {
  for (T& item : mine) item = static_cast<T>(otherwise);
  LoadDirectStriped<threads>(thread, from, mine, count);
}
template <int threads, class T, int items, class It>
void StoreDirectStriped(int thread, It to, T (&mine)[items], int count = INT_MAX) {
  for (int i = 0, at = thread; i < items; ++i, at += threads)
    if (at < count) to[at] = mine[i];
}

}  // namespace cub
