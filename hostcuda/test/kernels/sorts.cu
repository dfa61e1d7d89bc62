// CUB's algorithms of the device: sorts, scans, reductions and selections.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/cub.cuh>

#include "suite.h"

// Calls f twice as CUB wants it: for the size of its memory, and with it.
template <class F> static void with_storage(const char* what, F f) {
  size_t bytes = 0;
  suite::require(f(static_cast<void*>(nullptr), bytes), what);
  suite::Buffer<char> storage(bytes + 1);
  suite::require(f(static_cast<void*>(storage.data()), bytes), what);
  suite::require(cudaDeviceSynchronize(), what);
}

static std::vector<float> numbers() {
  return suite::made(50, [](size_t i) { return static_cast<float>(i * 29 % 50) - 20.5f; });
}
static std::vector<int> places(size_t count) {
  return suite::made(count, [](size_t i) { return static_cast<int>(i); });
}
// The order of values in [begin, end), as indices.
static std::vector<int> order(const std::vector<float>& values, size_t begin, size_t end,
                              bool is_descending) {
  std::vector<int> indices;
  for (size_t i = begin; i < end; ++i) indices.push_back(static_cast<int>(i));
  std::stable_sort(indices.begin(), indices.end(), [&](int a, int b) {
    const float x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return is_descending ? x > y : x < y;
  });
  return indices;
}
template <class T> static std::vector<T> current(cub::DoubleBuffer<T>& buffer, size_t count) {
  std::vector<T> values(count);
  suite::require(
      cudaMemcpy(values.data(), buffer.Current(), count * sizeof(T), cudaMemcpyDeviceToHost),
      "cudaMemcpy");
  return values;
}

KERNEL_CASE(sorts_of_double_buffers) {
  const std::vector<float> x = numbers();
  for (const bool is_descending : {false, true}) {
    suite::Buffer<float> keys(x), other_keys(x.size());
    suite::Buffer<int> values(places(x.size())), other_values(x.size());
    cub::DoubleBuffer<float> k(keys.data(), other_keys.data());
    cub::DoubleBuffer<int> v(values.data(), other_values.data());
    const int n = static_cast<int>(x.size());
    with_storage("DeviceRadixSort", [&](void* storage, size_t& bytes) {
      return is_descending ? cub::DeviceRadixSort::SortPairsDescending(storage, bytes, k, v, n)
                           : cub::DeviceRadixSort::SortPairs(storage, bytes, k, v, n);
    });
    const std::vector<int> want = order(x, 0, x.size(), is_descending);
    std::vector<float> sorted;
    for (const int i : want) sorted.push_back(x[static_cast<size_t>(i)]);
    suite::check(is_descending ? "down_keys" : "up_keys", current(k, x.size()), sorted);
    suite::check(is_descending ? "down_values" : "up_values", current(v, x.size()), want);
  }
}

KERNEL_CASE(sorts_of_segments) {
  const std::vector<float> x = numbers();
  const std::vector<int> ends = {0, 7, 7, 20, 50};
  suite::Buffer<int> offsets(ends);
  for (const bool is_descending : {false, true}) {
    suite::Buffer<float> keys(x), other_keys(x.size());
    suite::Buffer<int> values(places(x.size())), other_values(x.size());
    cub::DoubleBuffer<float> k(keys.data(), other_keys.data());
    cub::DoubleBuffer<int> v(values.data(), other_values.data());
    const int n = static_cast<int>(x.size()), segments = static_cast<int>(ends.size()) - 1;
    const int *const begins = offsets, *const stops = begins + 1;
    with_storage("DeviceSegmentedRadixSort", [&](void* storage, size_t& bytes) {
      using Sort = cub::DeviceSegmentedRadixSort;
      return is_descending
                 ? Sort::SortPairsDescending(storage, bytes, k, v, n, segments, begins, stops)
                 : Sort::SortPairs(storage, bytes, k, v, n, segments, begins, stops);
    });
    std::vector<int> want;
    std::vector<float> sorted;
    for (size_t s = 0; s + 1 < ends.size(); ++s)
      for (const int i : order(x, static_cast<size_t>(ends[s]), static_cast<size_t>(ends[s + 1]),
                               is_descending)) {
        want.push_back(i);
        sorted.push_back(x[static_cast<size_t>(i)]);
      }
    suite::check(is_descending ? "down_keys" : "up_keys", current(k, x.size()), sorted);
    suite::check(is_descending ? "down_values" : "up_values", current(v, x.size()), want);
  }
}

KERNEL_CASE(sorts_of_keys) {
  const std::vector<unsigned> x =
      suite::made(40, [](size_t i) { return static_cast<unsigned>(i * 2654435761u); });
  suite::Buffer<unsigned> keys(x), sorted(x.size());
  with_storage("SortKeys", [&](void* storage, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, keys.data(), sorted.data(), 40, 8, 20);
  });
  // Of the bits 8 to 19 alone; what is equal keeps its order.
  std::vector<unsigned> want = x;
  std::stable_sort(want.begin(), want.end(),
                   [](unsigned a, unsigned b) { return (a >> 8 & 0xfff) < (b >> 8 & 0xfff); });
  suite::check("of_some_bits", sorted.read(), want);
  suite::Buffer<__half> halves(std::vector<__half>{__half(2.f), __half(-1.f), __half(0.5f)}),
      in_order(size_t{3});
  with_storage("SortKeysDescending", [&](void* storage, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeysDescending(storage, bytes, halves.data(), in_order.data(),
                                                    3);
  });
  suite::check("halves", in_order.read(), std::vector<float>{2, 0.5f, -1});
}

struct Greater {
  template <class T> __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};
struct Product {
  __host__ __device__ int operator()(int a, int b) const { return a * b % 1009; }
};
struct Squared {
  __host__ __device__ int operator()(int x) const { return x * x; }
};
struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

KERNEL_CASE(reductions_and_scans) {
  const std::vector<int> x =
      suite::made(100, [](size_t i) { return static_cast<int>(i * 37 % 100) + 1; });
  suite::Buffer<int> in(x), out(size_t{100}), one(size_t{4});
  with_storage("Sum", [&](void* storage, size_t& bytes) {
    return cub::DeviceReduce::Sum(storage, bytes, in.data(), one.data(), 100);
  });
  with_storage("Max", [&](void* storage, size_t& bytes) {
    return cub::DeviceReduce::Max(storage, bytes, in.data(), one.data() + 1, 100);
  });
  with_storage("Min", [&](void* storage, size_t& bytes) {
    return cub::DeviceReduce::Min(storage, bytes, in.data(), one.data() + 2, 100);
  });
  const auto squares =
      thrust::make_transform_iterator(thrust::counting_iterator<int>(0), Squared());
  with_storage("Reduce", [&](void* storage, size_t& bytes) {
    return cub::DeviceReduce::Reduce(storage, bytes, squares, one.data() + 3, 20, Greater(), -1);
  });
  suite::check("reduced", one.read(), std::vector<int>{5050, 100, 1, 361});
  const auto check_scan = [&](const char* what, bool is_inclusive, int first, auto combine) {
    std::vector<int> want;
    int total = first;
    for (const int item : x) {
      const int next = combine(total, item);
      want.push_back(is_inclusive ? next : total);
      total = next;
    }
    suite::check(what, out.read(), want);
  };
  with_storage("InclusiveSum", [&](void* storage, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(storage, bytes, in.data(), out.data(), 100);
  });
  check_scan("inclusive_sum", true, 0, [](int a, int b) { return a + b; });
  with_storage("ExclusiveSum", [&](void* storage, size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(storage, bytes, in.data(), out.data(), 100);
  });
  check_scan("exclusive_sum", false, 0, [](int a, int b) { return a + b; });
  with_storage("InclusiveScan", [&](void* storage, size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(storage, bytes, in.data(), out.data(), Greater(), 100);
  });
  check_scan("inclusive_greatest", true, -1, Greater());
  with_storage("ExclusiveScan", [&](void* storage, size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(storage, bytes, in.data(), out.data(), Product(), 1, 100);
  });
  check_scan("exclusive_product", false, 1, Product());
}

KERNEL_CASE(selections) {
  const std::vector<int> x = suite::made(60, [](size_t i) { return static_cast<int>(i * 7 % 60); });
  suite::Buffer<int> in(x), out(size_t{60}), count(size_t{1});
  suite::Buffer<char> flags(
      suite::made(60, [](size_t i) { return static_cast<char>(i % 3 == 0); }));
  const auto check = [&](const char* what, auto is_wanted) {
    std::vector<int> want, got = out.read();
    for (size_t i = 0; i < x.size(); ++i)
      if (is_wanted(i)) want.push_back(x[i]);
    got.resize(static_cast<size_t>(count.read()[0]));
    suite::check(what, got, want);
  };
  with_storage("Flagged", [&](void* storage, size_t& bytes) {
    return cub::DeviceSelect::Flagged(storage, bytes, in.data(), flags.data(), out.data(),
                                      count.data(), 60);
  });
  check("flagged", [](size_t i) { return i % 3 == 0; });
  with_storage("If", [&](void* storage, size_t& bytes) {
    return cub::DeviceSelect::If(storage, bytes, in.data(), out.data(), count.data(), 60, IsOdd());
  });
  check("odd", [&](size_t i) { return x[i] % 2 != 0; });
}
