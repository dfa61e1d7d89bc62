/// Iterators that compute what they point at.
#pragma once
#pragma GCC system_header

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace thrust {

/// Random access by an index; `Self` says what is there.
template <class Self, class T> struct computed_iterator {
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using reference = T;
  using pointer = const T*;
  using iterator_category = std::random_access_iterator_tag;

  T operator*() const { return self().at(0); }
  T operator[](difference_type i) const { return self().at(i); }
  Self operator+(difference_type i) const {
    Self copy = self();
    copy.advance(i);
    return copy;
  }
  Self operator-(difference_type i) const { return *this + -i; }
  Self& operator+=(difference_type i) {
    self().advance(i);
    return self();
  }
  Self& operator++() { return *this += 1; }
  Self operator++(int) {
    const Self before = self();
    ++*this;
    return before;
  }
  Self& operator--() { return *this += -1; }
  friend bool operator==(const Self& a, const Self& b) { return b.distance(a) == 0; }
  friend bool operator!=(const Self& a, const Self& b) { return b.distance(a) != 0; }
  friend bool operator<(const Self& a, const Self& b) { return a.distance(b) > 0; }
  friend difference_type operator-(const Self& a, const Self& b) { return b.distance(a); }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  const Self& self() const { return static_cast<const Self&>(*this); }
};

template <class T> struct counting_iterator : computed_iterator<counting_iterator<T>, T> {
  T value;
  explicit counting_iterator(T first = T()) : value(first) {}
  T at(std::ptrdiff_t i) const { return static_cast<T>(value + static_cast<T>(i)); }
  void advance(std::ptrdiff_t i) { value = at(i); }
  std::ptrdiff_t distance(const counting_iterator& other) const {
    return static_cast<std::ptrdiff_t>(other.value) - static_cast<std::ptrdiff_t>(value);
  }
};
template <class T> counting_iterator<T> make_counting_iterator(T first) {
  return counting_iterator<T>(first);
}

template <class T> struct constant_iterator : computed_iterator<constant_iterator<T>, T> {
  T value;
  std::ptrdiff_t place = 0;
  explicit constant_iterator(T all = T()) : value(all) {}
  T at(std::ptrdiff_t) const { return value; }
  void advance(std::ptrdiff_t i) { place += i; }
  std::ptrdiff_t distance(const constant_iterator& other) const { return other.place - place; }
};
template <class T> constant_iterator<T> make_constant_iterator(T all) {
  return constant_iterator<T>(all);
}

template <class F, class It,
          class R = std::decay_t<decltype(std::declval<F>()(*std::declval<It>()))>, class = void>
struct transform_iterator : computed_iterator<transform_iterator<F, It, R>, R> {
  It from;
  F f;
  transform_iterator(It i, F function) : from(i), f(function) {}
  R at(std::ptrdiff_t i) const { return f(from[i]); }
  void advance(std::ptrdiff_t i) { from += i; }
  std::ptrdiff_t distance(const transform_iterator& other) const { return other.from - from; }
};
template <class It, class F> transform_iterator<F, It> make_transform_iterator(It from, F f) {
  return {from, f};
}

/// Takes everything and keeps nothing.
struct discard_iterator {
  struct sink {
    template <class T> const sink& operator=(const T&) const { return *this; }
  };
  using value_type = sink;
  using difference_type = std::ptrdiff_t;
  using reference = sink;
  using pointer = const sink*;
  using iterator_category = std::random_access_iterator_tag;
  sink operator*() const { return {}; }
  sink operator[](std::ptrdiff_t) const { return {}; }
  discard_iterator& operator++() { return *this; }
  discard_iterator operator++(int) { return *this; }
  discard_iterator operator+(std::ptrdiff_t) const { return *this; }
};
inline discard_iterator make_discard_iterator() {
  return {};
}

}  // namespace thrust
