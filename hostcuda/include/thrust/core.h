/// What plugins use of Thrust. Algorithms run in the stream of their policy, and the caller waits
/// where Thrust makes it wait.
#pragma once
#pragma GCC system_header

#include <cuda_runtime.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "tenon/hostcuda/stream_work.h"
#include "thrust/iterator/iterators.h"

namespace thrust {

struct execution_policy_in_stream {
  cudaStream_t stream = nullptr;
  bool is_host = false;
  execution_policy_in_stream on(cudaStream_t other) const { return {other, is_host}; }
  template <class Allocator> execution_policy_in_stream operator()(Allocator&&) const {
    return *this;
  }

  /// Runs work() in the stream and waits, as Thrust does.
  template <class F> void run(F&& work) const {
    if (is_host) return work();
    if (tenon::hostcuda::put_into(stream, std::ref(work)) == cudaSuccess)
      cudaStreamSynchronize(stream);
  }
};
inline const execution_policy_in_stream device{}, host{nullptr, true}, seq{nullptr, true};
namespace cuda {
inline const execution_policy_in_stream par{}, par_nosync{};
}

template <class A, class R> struct unary_function {
  using argument_type = A;
  using result_type = R;
};
template <class A, class B, class R> struct binary_function {
  using first_argument_type = A;
  using second_argument_type = B;
  using result_type = R;
};
template <class T = void> struct plus : std::plus<T> {};
template <class T = void> struct minus : std::minus<T> {};
template <class T = void> struct multiplies : std::multiplies<T> {};
template <class T = void> struct less : std::less<T> {};
template <class T = void> struct greater : std::greater<T> {};
template <class T = void> struct equal_to : std::equal_to<T> {};
template <class T> struct maximum {
  T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <class T> struct minimum {
  T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <class T> struct identity {
  const T& operator()(const T& x) const { return x; }
};

template <class T> struct device_ptr : computed_iterator<device_ptr<T>, T> {
  T* place = nullptr;
  device_ptr() = default;
  explicit device_ptr(T* p) : place(p) {}
  using reference = T&;
  using pointer = T*;
  T* get() const { return place; }
  T& operator*() const { return *place; }
  T& operator[](std::ptrdiff_t i) const { return place[i]; }
  void advance(std::ptrdiff_t i) { place += i; }
  std::ptrdiff_t distance(const device_ptr& other) const { return other.place - place; }
};
template <class T> device_ptr<T> device_pointer_cast(T* p) {
  return device_ptr<T>(p);
}
template <class T> T* raw_pointer_cast(T* p) {
  return p;
}
template <class T> T* raw_pointer_cast(device_ptr<T> p) {
  return p.get();
}
template <class T> T* raw_pointer_cast(typename std::vector<T>::iterator p) {
  return &*p;
}

template <class T> using host_vector = std::vector<T>;
template <class T> struct device_vector : std::vector<T> {
  using std::vector<T>::vector;
  device_vector(const std::vector<T>& other) : std::vector<T>(other) {}
};

// Algorithms, with a policy in front.
#define TENON_ALGORITHM(name, parameters, body)                     \
  void name(const execution_policy_in_stream& policy, parameters) { \
    policy.run([&] { body; });                                      \
  }
#define TENON_LIST(...) __VA_ARGS__

template <class It, class T>
TENON_ALGORITHM(fill, TENON_LIST(It a, It b, const T& value), for (; a != b; ++a) * a = value)
template <class It, class N, class T>
TENON_ALGORITHM(fill_n, TENON_LIST(It a, N count, const T& value),
                for (N i = 0; i < count; ++i) a[i] = value)
template <class It>
TENON_ALGORITHM(sequence, TENON_LIST(It a, It b), std::ptrdiff_t i = 0;
                for (; a != b; ++a) * a = i++)
template <class It, class F>
TENON_ALGORITHM(for_each, TENON_LIST(It a, It b, F f), for (; a != b; ++a) f(*a))
template <class It, class N, class F>
TENON_ALGORITHM(for_each_n, TENON_LIST(It a, N count, F f), for (N i = 0; i < count; ++i) f(a[i]))
template <class It, class F>
TENON_ALGORITHM(generate, TENON_LIST(It a, It b, F f), for (; a != b; ++a) * a = f())
template <class It>
TENON_ALGORITHM(sort, TENON_LIST(It a, It b), std::stable_sort(a, b))
template <class It, class F>
TENON_ALGORITHM(sort, TENON_LIST(It a, It b, F before), std::stable_sort(a, b, before))
template <class K, class V, class F>
void sort_by_key(const execution_policy_in_stream& policy, K a, K b, V values, F before) {
  policy.run([&] {
    using Key = std::decay_t<decltype(*a)>;
    using Value = std::decay_t<decltype(*values)>;
    std::vector<std::pair<Key, Value>> all;
    for (K k = a; k != b; ++k) all.emplace_back(*k, values[k - a]);
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& x, const auto& y) { return before(x.first, y.first); });
    for (std::size_t i = 0; i < all.size(); ++i) {
      a[static_cast<std::ptrdiff_t>(i)] = all[i].first;
      values[static_cast<std::ptrdiff_t>(i)] = all[i].second;
    }
  });
}
template <class K, class V>
void sort_by_key(const execution_policy_in_stream& policy, K a, K b, V values) {
  sort_by_key(policy, a, b, values, std::less<>());
}

template <class In, class Out>
Out copy(const execution_policy_in_stream& policy, In a, In b, Out out) {
  policy.run([&] {
    for (; a != b; ++a, ++out) *out = *a;
  });
  return out;
}
template <class In, class Out, class F>
Out transform(const execution_policy_in_stream& policy, In a, In b, Out out, F f) {
  policy.run([&] {
    for (; a != b; ++a, ++out) *out = f(*a);
  });
  return out;
}
template <class A, class B, class Out, class F>
Out transform(const execution_policy_in_stream& policy, A a, A a_end, B b, Out out, F f) {
  policy.run([&] {
    for (; a != a_end; ++a, ++b, ++out) *out = f(*a, *b);
  });
  return out;
}
template <class In, class T, class F>
T reduce(const execution_policy_in_stream& policy, In a, In b, T total, F f) {
  policy.run([&] {
    for (; a != b; ++a) total = f(total, *a);
  });
  return total;
}
template <class In, class T>
T reduce(const execution_policy_in_stream& policy, In a, In b, T total) {
  return reduce(policy, a, b, total, std::plus<>());
}
template <class In> auto reduce(const execution_policy_in_stream& policy, In a, In b) {
  return reduce(policy, a, b, std::decay_t<decltype(*a)>{});
}
template <class In, class F, class T, class G>
T transform_reduce(const execution_policy_in_stream& policy, In a, In b, F f, T total, G g) {
  policy.run([&] {
    for (; a != b; ++a) total = g(total, f(*a));
  });
  return total;
}
template <class In, class Out, class F>
Out inclusive_scan(const execution_policy_in_stream& policy, In a, In b, Out out, F f) {
  policy.run([&] {
    if (a == b) return;
    std::decay_t<decltype(*a)> total = *a;
    *out = total;
    for (++a, ++out; a != b; ++a, ++out) *out = total = f(total, *a);
  });
  return out;
}
template <class In, class Out>
Out inclusive_scan(const execution_policy_in_stream& policy, In a, In b, Out out) {
  return inclusive_scan(policy, a, b, out, std::plus<>());
}
template <class In, class Out, class T, class F>
Out exclusive_scan(const execution_policy_in_stream& policy, In a, In b, Out out, T total, F f) {
  policy.run([&] {
    for (; a != b; ++a, ++out) {
      const auto item = *a;
      *out = total;
      total = f(total, item);
    }
  });
  return out;
}
template <class In, class Out, class T>
Out exclusive_scan(const execution_policy_in_stream& policy, In a, In b, Out out, T total) {
  return exclusive_scan(policy, a, b, out, total, std::plus<>());
}
template <class In, class Out>
Out exclusive_scan(const execution_policy_in_stream& policy, In a, In b, Out out) {
  return exclusive_scan(policy, a, b, out, std::decay_t<decltype(*a)>{});
}
template <class K, class V, class KOut, class VOut, class E, class F>
std::pair<KOut, VOut> reduce_by_key(const execution_policy_in_stream& policy, K a, K b, V values,
                                    KOut keys_out, VOut values_out, E are_equal, F f) {
  policy.run([&] {
    while (a != b) {
      const auto key = *a;
      auto total = *values;
      for (++a, ++values; a != b && are_equal(key, *a); ++a, ++values) total = f(total, *values);
      *keys_out = key;
      *values_out = total;
      ++keys_out, ++values_out;
    }
  });
  return {keys_out, values_out};
}

template <class K, class V, class KOut, class VOut>
std::pair<KOut, VOut> reduce_by_key(const execution_policy_in_stream& policy, K a, K b, V values,
                                    KOut keys_out, VOut values_out) {
  return reduce_by_key(policy, a, b, values, keys_out, values_out, std::equal_to<>(),
                       std::plus<>());
}

// What the standard library does in the same way.
#define TENON_STANDARD(name, standard)                                            \
  template <class It, class... Rest>                                              \
  auto name(const execution_policy_in_stream& policy, It a, It b, Rest... rest) { \
    decltype(std::standard(a, b, rest...)) result{};                              \
    policy.run([&] { result = std::standard(a, b, rest...); });                   \
    return result;                                                                \
  }
TENON_STANDARD(copy_if, copy_if)
TENON_STANDARD(remove_if, remove_if)
TENON_STANDARD(unique, unique)
TENON_STANDARD(count, count)
TENON_STANDARD(count_if, count_if)
TENON_STANDARD(max_element, max_element)
TENON_STANDARD(min_element, min_element)
TENON_STANDARD(find, find)
TENON_STANDARD(lower_bound, lower_bound)
TENON_STANDARD(upper_bound, upper_bound)
#undef TENON_STANDARD
template <class Map, class In, class Out>
Out gather(const execution_policy_in_stream& policy, Map a, Map b, In from, Out out) {
  policy.run([&] {
    for (; a != b; ++a, ++out) *out = from[*a];
  });
  return out;
}
template <class In, class Map, class Out>
void scatter(const execution_policy_in_stream& policy, In a, In b, Map map, Out out) {
  policy.run([&] {
    for (; a != b; ++a, ++map) out[*map] = *a;
  });
}

// Sorts are stable here.
#define TENON_SAME(name, other)                                                               \
  template <class... A> void name(const execution_policy_in_stream& policy, A... arguments) { \
    other(policy, arguments...);                                                              \
  }
TENON_SAME(stable_sort, sort)
TENON_SAME(stable_sort_by_key, sort_by_key)
#undef TENON_SAME

// Without a policy, the work is the device's.
template <class T>
using IfNoPolicy = std::enable_if_t<!std::is_base_of<execution_policy_in_stream, T>::value>;
#define TENON_WITHOUT_POLICY(name)                                 \
  template <class First, class... Rest, class = IfNoPolicy<First>> \
  auto name(First first, Rest... rest) {                           \
    return name(device, first, rest...);                           \
  }
TENON_WITHOUT_POLICY(fill)
TENON_WITHOUT_POLICY(fill_n)
TENON_WITHOUT_POLICY(sequence)
TENON_WITHOUT_POLICY(for_each)
TENON_WITHOUT_POLICY(for_each_n)
TENON_WITHOUT_POLICY(generate)
TENON_WITHOUT_POLICY(sort)
TENON_WITHOUT_POLICY(sort_by_key)
TENON_WITHOUT_POLICY(stable_sort)
TENON_WITHOUT_POLICY(stable_sort_by_key)
TENON_WITHOUT_POLICY(copy)
TENON_WITHOUT_POLICY(copy_if)
TENON_WITHOUT_POLICY(remove_if)
TENON_WITHOUT_POLICY(unique)
TENON_WITHOUT_POLICY(count)
TENON_WITHOUT_POLICY(count_if)
TENON_WITHOUT_POLICY(max_element)
TENON_WITHOUT_POLICY(min_element)
TENON_WITHOUT_POLICY(find)
TENON_WITHOUT_POLICY(lower_bound)
TENON_WITHOUT_POLICY(upper_bound)
TENON_WITHOUT_POLICY(gather)
TENON_WITHOUT_POLICY(scatter)
TENON_WITHOUT_POLICY(transform)
TENON_WITHOUT_POLICY(transform_reduce)
TENON_WITHOUT_POLICY(reduce)
TENON_WITHOUT_POLICY(reduce_by_key)
TENON_WITHOUT_POLICY(inclusive_scan)
TENON_WITHOUT_POLICY(exclusive_scan)
#undef TENON_WITHOUT_POLICY

#undef TENON_ALGORITHM
#undef TENON_LIST

}  // namespace thrust
