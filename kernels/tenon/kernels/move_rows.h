/// Rows of elements that only move.
#pragma once

#include <tenon/plugin/device.h>

namespace tenon::kernels::inline TENON_TARGET {

template <class E> struct MoveRows {
  const E* from;
  E* to;
  int64_t from_step, to_step;

  TENON_HD void operator()(int64_t row, int64_t column) const {
    to[row * to_step + column] = from[row * from_step + column];
  }
};

/// Copies `count` elements of each of `rows` rows, which begin `from_step` and `to_step` elements
/// apart. Those that are written overlap nothing.
template <class E>
void move_rows(const kit::Device& device, const E* from, int64_t from_step, int64_t rows,
               int64_t count, E* to, int64_t to_step) {
  device.parallel_grid(rows, count, MoveRows<E>{from, to, from_step, to_step});
}

}  // namespace tenon::kernels::inline TENON_TARGET
