#include "cuda/order.cuh"
#include "cuda/top_k.h"

namespace tenon::cuda {
namespace {

// Calls body(E{}, Index{}) with the types of elements and indices.
template <class Body> void with_types(const TopRows& rows, const Body& body) {
  with_element(rows.type, [&](auto zero) {
    using E = decltype(zero);
    if constexpr (!std::is_same_v<E, bool>) {
      if (rows.is_wide)
        body(E{}, int64_t{});
      else
        body(E{}, int32_t{});
    }
  });
}

// What orders an element of a row: the first one is the smallest. Digits are bytes of the key, then
// of the index, from the highest on.
template <class Key> struct Entry {
  Key key;
  uint32_t index;  // the position, or its complement

  static constexpr int kKeyDigits = sizeof(Key), kDigits = kKeyDigits + 4;

  __device__ bool operator<(const Entry& other) const {
    return key < other.key || (key == other.key && index < other.index);
  }
  __device__ uint32_t digit(int d) const {
    return d < kKeyDigits ? static_cast<uint32_t>(key >> 8 * (kKeyDigits - 1 - d)) & 255
                          : index >> 8 * (kDigits - 1 - d) & 255;
  }
};

template <class E> struct Row {
  using Key = OrderKey<E>;
  const E* data;
  int64_t step;
  bool smallest, last_index;
  uint32_t nan;

  __device__ Row(const TopRows& rows, int64_t row)
      : data(static_cast<const E*>(rows.data) + row / rows.inner * rows.length * rows.inner
             + row % rows.inner),
        step(rows.inner),
        smallest(rows.smallest),
        last_index(rows.last_index),
        nan(rows.nans_first && rows.smallest ? kNanIsLeast : kNanIsGreatest) {}
  __device__ Entry<Key> entry(int64_t position) const {
    const Key key = order_key(data[position * step], nan);
    const auto index = static_cast<uint32_t>(position);
    return {smallest ? key : static_cast<Key>(~key), last_index ? ~index : index};
  }
  __device__ int64_t position(const Entry<Key>& entry) const {
    return last_index ? ~entry.index : entry.index;
  }
};

template <class E, class Index>
__device__ void write(const TopRows& rows, const Row<E>& row, int64_t number, int64_t i,
                      int64_t position) {
  const int64_t to = (number / rows.inner * rows.k + i) * rows.inner + number % rows.inner;
  static_cast<E*>(rows.values)[to] = row.data[position * row.step];
  static_cast<Index*>(rows.indices)[to] = static_cast<Index>(position);
}

// A thread for each row: where rows lie side by side, or are short.
template <class E, class Index> __global__ void take_one(TopRows rows) {
  for_own(static_cast<uint64_t>(rows.rows()), [&](uint64_t i) {
    const auto number = static_cast<int64_t>(i);
    const Row<E> row(rows, number);
    auto best = row.entry(0);
    for (int64_t position = 1; position < rows.length; ++position) {
      const auto entry = row.entry(position);
      if (entry < best) best = entry;
    }
    write<E, Index>(rows, row, number, 0, row.position(best));
  });
}

// A block for each row.
template <class E, class Index> __global__ void take_one_of_long(TopRows rows) {
  using Best = Entry<OrderKey<E>>;
  __shared__ Best shared[kThreads];
  for (int64_t number = blockIdx.x; number < rows.rows(); number += gridDim.x) {
    const Row<E> row(rows, number);
    Best best = row.entry(threadIdx.x < rows.length ? threadIdx.x : 0);
    for (int64_t position = threadIdx.x + kThreads; position < rows.length; position += kThreads) {
      const Best entry = row.entry(position);
      if (entry < best) best = entry;
    }
    shared[threadIdx.x] = best;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half && shared[threadIdx.x + half] < shared[threadIdx.x])
        shared[threadIdx.x] = shared[threadIdx.x + half];
    }
    __syncthreads();
    if (threadIdx.x == 0) write<E, Index>(rows, row, number, 0, row.position(shared[0]));
    __syncthreads();
  }
}

constexpr int kSelectThreads = 512;

// The k-th entry of a row in order, as far as its digits decide what comes before it.
template <class E> struct Bound {
  Entry<OrderKey<E>> entry;
  int digits;     // that count
  int64_t equal;  // entries with these digits to take, after those that come before: all there are

  __device__ int compare(const Entry<OrderKey<E>>& other) const {
    for (int d = 0; d < digits; ++d)
      if (other.digit(d) != entry.digit(d)) return other.digit(d) < entry.digit(d) ? -1 : 1;
    return 0;
  }
};

template <class Key> __device__ void set_digit(Entry<Key>& entry, int d, uint32_t value) {
  using E = Entry<Key>;
  if (d < E::kKeyDigits)
    entry.key |= static_cast<Key>(value) << 8 * (E::kKeyDigits - 1 - d);
  else
    entry.index |= value << 8 * (E::kDigits - 1 - d);
}

// All threads of a block call it.
template <class E> __device__ Bound<E> find_bound(const Row<E>& row, int64_t length, int64_t k) {
  __shared__ uint32_t counts[256];
  __shared__ uint32_t found_digit, found_count, found_before;
  Bound<E> bound = {};
  int64_t wanted = k;
  while (bound.digits < Entry<OrderKey<E>>::kDigits) {
    for (int i = threadIdx.x; i < 256; i += kSelectThreads) counts[i] = 0;
    __syncthreads();
    for (int64_t position = threadIdx.x; position < length; position += kSelectThreads) {
      const auto entry = row.entry(position);
      if (bound.compare(entry) == 0) atomicAdd(&counts[entry.digit(bound.digits)], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      uint32_t before = 0;
      int digit = 0;
      while (before + counts[digit] < wanted) before += counts[digit++];
      found_digit = static_cast<uint32_t>(digit);
      found_count = counts[digit];
      found_before = before;
    }
    __syncthreads();
    set_digit(bound.entry, bound.digits++, found_digit);
    wanted -= found_before;
    bound.equal = found_count;
    if (bound.equal == wanted) break;
  }
  return bound;
}

// What lies behind the entries counts as larger than they are.
template <class Key> __device__ void sort_entries(Entry<Key>* entries, int64_t count) {
  int64_t size = 1;
  while (size < count) size *= 2;
  const auto order = [&](int64_t i, int64_t j) {
    if (j <= i || j >= count || entries[i] < entries[j]) return;
    const Entry<Key> larger = entries[i];
    entries[i] = entries[j];
    entries[j] = larger;
  };
  for (int64_t run = 2; run <= size; run *= 2) {
    __syncthreads();
    for (int64_t i = threadIdx.x; i < count; i += kSelectThreads) order(i, i ^ (run - 1));
    for (int64_t distance = run / 4; distance > 0; distance /= 2) {
      __syncthreads();
      for (int64_t i = threadIdx.x; i < count; i += kSelectThreads) order(i, i ^ distance);
    }
  }
  __syncthreads();
}

template <class E, class Index>
__global__ void __launch_bounds__(kSelectThreads) take_some(TopRows rows) {
  __shared__ Entry<OrderKey<E>> taken[kMaxSelected];
  __shared__ uint32_t count;
  for (int64_t number = blockIdx.x; number < rows.rows(); number += gridDim.x) {
    const Row<E> row(rows, number);
    const Bound<E> bound = find_bound(row, rows.length, rows.k);
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (int64_t position = threadIdx.x; position < rows.length; position += kSelectThreads) {
      const auto entry = row.entry(position);
      if (bound.compare(entry) <= 0) taken[atomicAdd(&count, 1u)] = entry;
    }
    sort_entries(taken, rows.k);
    for (int64_t i = threadIdx.x; i < rows.k; i += kSelectThreads)
      write<E, Index>(rows, row, number, i, row.position(taken[i]));
    __syncthreads();
  }
}

// Elements in the order of rows, and in each row as equal ones are to come.
template <class E> __global__ void make_keys(TopRows rows, SortedPairs pairs) {
  for_own(static_cast<uint64_t>(rows.rows() * rows.length), [&](uint64_t i) {
    const auto number = static_cast<int64_t>(i / static_cast<uint64_t>(rows.length));
    const auto index = static_cast<int64_t>(i % static_cast<uint64_t>(rows.length));
    const int64_t position = rows.last_index ? rows.length - 1 - index : index;
    const auto key = Row<E>(rows, number).entry(position).key;
    pairs.keys[i] = sizeof(key) == 8 ? key : static_cast<uint64_t>(number) << 32 | key;
    pairs.values[i] = static_cast<uint32_t>(number * rows.length + position);
  });
}

__global__ void make_row_keys(SortedPairs pairs, int64_t count, int64_t length) {
  for_own(static_cast<uint64_t>(count),
          [&](uint64_t i) { pairs.keys[i] = pairs.values[i] / static_cast<uint64_t>(length); });
}

template <class E, class Index> __global__ void write_sorted(TopRows rows, const uint32_t* sorted) {
  for_own(static_cast<uint64_t>(rows.rows() * rows.k), [&](uint64_t i) {
    const auto number = static_cast<int64_t>(i / static_cast<uint64_t>(rows.k));
    const auto at = static_cast<int64_t>(i % static_cast<uint64_t>(rows.k));
    const int64_t position = sorted[number * rows.length + at] - number * rows.length;
    write<E, Index>(rows, Row<E>(rows, number), number, at, position);
  });
}

}  // namespace

void launch_top_one(const TopRows& rows, cudaStream_t stream) {
  constexpr int64_t kLong = 128;
  const bool has_long_rows = rows.inner == 1 && rows.length >= kLong;
  with_types(rows, [&](auto zero, auto index) {
    using E = decltype(zero);
    using Index = decltype(index);
    if (has_long_rows)
      launch(take_one_of_long<E, Index>, blocks_for(rows.rows(), 1), kThreads, stream, rows);
    else
      launch(take_one<E, Index>, blocks_for(rows.rows()), kThreads, stream, rows);
  });
}

void launch_top_some(const TopRows& rows, cudaStream_t stream) {
  with_types(rows, [&](auto zero, auto index) {
    launch(take_some<decltype(zero), decltype(index)>, blocks_for(rows.rows(), 1), kSelectThreads,
           stream, rows);
  });
}

void launch_top_all(const TopRows& rows, SortedPairs pairs, void* scratch, size_t scratch_bytes,
                    cudaStream_t stream) {
  const int64_t count = rows.rows() * rows.length;
  const int row_bits = std::bit_width(static_cast<uint64_t>(rows.rows() - 1));
  with_types(rows, [&](auto zero, auto index) {
    using E = decltype(zero);
    launch(make_keys<E>, blocks_for(count), kThreads, stream, rows, pairs);
    if constexpr (sizeof(OrderKey<E>) == 8) {
      // Twice: equal keys stay in order.
      launch_sort(pairs, count, 64, scratch, scratch_bytes, stream);
      if (rows.rows() > 1) {
        launch(make_row_keys, blocks_for(count), kThreads, stream, pairs, count, rows.length);
        launch_sort(pairs, count, row_bits, scratch, scratch_bytes, stream);
      }
    } else {
      launch_sort(pairs, count, 32 + row_bits, scratch, scratch_bytes, stream);
    }
    launch(write_sorted<E, decltype(index)>, blocks_for(rows.rows() * rows.k), kThreads, stream,
           rows, static_cast<const uint32_t*>(pairs.values));
  });
}

}  // namespace tenon::cuda
