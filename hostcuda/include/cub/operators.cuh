/// Operators and pairs of CUB.
#pragma once
#pragma GCC system_header

#include <cuda_runtime.h>

#include <cfloat>

#include "cuda/functional"

namespace cub {

struct Sum {
  template <class T> T operator()(const T& a, const T& b) const { return a + b; }
};
struct Max {
  template <class T> T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
struct Min {
  template <class T> T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
struct Equality {
  template <class T, class U> bool operator()(const T& a, const U& b) const { return a == b; }
};
struct Inequality {
  template <class T, class U> bool operator()(const T& a, const U& b) const { return !(a == b); }
};

}  // namespace cub

/// A base of CUB's types: nvcc finds operators of the global namespace for them when a template is
/// instantiated, and C++ does so for a base's.
struct TenonGlobal {};

namespace cub {

template <class K, class V> struct KeyValuePair : TenonGlobal {
  using Key = K;
  using Value = V;
  K key;
  V value;
  KeyValuePair() = default;
  KeyValuePair(const K& key, const V& value) : key(key), value(value) {}
  bool operator!=(const KeyValuePair& other) const {
    return key != other.key || value != other.value;
  }
};
/// Of equal values, the one with the lower key.
struct ArgMax {
  template <class K, class V>
  KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const {
    return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class K, class V>
  KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

struct NullType {};

/// Two buffers, of which one is the current one.
template <class T> struct DoubleBuffer {
  T* d_buffers[2] = {nullptr, nullptr};
  int selector = 0;
  DoubleBuffer() = default;
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

}  // namespace cub
