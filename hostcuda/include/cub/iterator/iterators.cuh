/// Iterators of CUB, which are Thrust's.
#pragma once
#pragma GCC system_header

#include "thrust/iterator/iterators.h"

namespace cub {

template <class T, class = std::ptrdiff_t>
using CountingInputIterator = thrust::counting_iterator<T>;
template <class T, class F, class It, class = std::ptrdiff_t>
struct TransformInputIterator : thrust::transform_iterator<F, It, T> {
  TransformInputIterator(It from, F f) : thrust::transform_iterator<F, It, T>(from, f) {}
};
template <class T, class = std::ptrdiff_t>
using ConstantInputIterator = thrust::constant_iterator<T>;

}  // namespace cub
