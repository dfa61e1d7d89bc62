// Rows of a result and where its operands' elements for them are: loops over broadcast operands.
#pragma once

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/parallel.h"
#include "base/shape.h"

namespace tenon::cpu {

/// A row of a result of `length` elements, cut so that it fits L1 caches.
template <size_t kOperands> struct BroadcastRow {
  int64_t begin, length;
  std::array<int64_t, kOperands> offset, step;  // in elements of each operand
};

/// How operands of given shapes run along with a result; allocates nothing.
template <size_t kOperands> class BroadcastRows {
 public:
  static constexpr int64_t kMax = 1024;  // elements of a row

  BroadcastRows() = default;
  /// Operands of the result's rank, whose extents are its own or 1.
  BroadcastRows(const Shape& out, const std::array<Shape, kOperands>& operands) {
    std::array<Shape, kOperands> strides;
    for (size_t k = 0; k < kOperands; ++k) {
      require(operands[k].rank() == out.rank(), "ranks differ: {} and {}", operands[k], out);
      strides[k] = operands[k].strides();
      for (int i = 0; i < out.rank(); ++i) {
        require(operands[k][i] == out[i] || operands[k][i] == 1,
                "shape {} does not broadcast to {}", operands[k], out);
        if (operands[k][i] == 1) strides[k][i] = 0;
      }
    }
    for (int i = 0; i < out.rank(); ++i)
      if (out[i] != 1) append(out[i], strides, i);
    if (extents_.rank() == 0) append(1, strides, -1);
  }

  /// Calls body(row) for all rows, in parallel.
  template <class Body> void run(const Body& body) const {
    constexpr int64_t kElementsPerTask = 16384;
    const int last = extents_.rank() - 1;
    const int64_t length = extents_[last], pieces = (length + kMax - 1) / kMax;
    if (length == 0) return;
    const int64_t grain = std::max<int64_t>(1, kElementsPerTask / std::min(length, kMax));
    parallel_for(extents_.volume(0, last) * pieces, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        BroadcastRow<kOperands> row;
        const int64_t first = i % pieces * kMax;
        row.begin = i / pieces * length + first;
        row.length = std::min(kMax, length - first);
        for (size_t k = 0; k < kOperands; ++k) {
          row.step[k] = strides_[k][last];
          row.offset[k] = first * row.step[k];
        }
        int64_t rest = i / pieces;
        for (int axis = last - 1; axis >= 0; --axis) {
          const int64_t at = rest % extents_[axis];
          rest /= extents_[axis];
          for (size_t k = 0; k < kOperands; ++k) row.offset[k] += at * strides_[k][axis];
        }
        body(row);
      }
    });
  }

 private:
  // Adjacent axes with a common step are one.
  void append(int64_t extent, const std::array<Shape, kOperands>& strides, int axis) {
    const int last = extents_.rank() - 1;
    bool joins = last >= 0;
    for (size_t k = 0; joins && k < kOperands; ++k)
      joins = strides_[k][last] == strides[k][axis] * extent;
    if (joins)
      extents_[last] *= extent;
    else
      extents_.push_back(extent);
    for (size_t k = 0; k < kOperands; ++k) {
      const int64_t stride = axis < 0 ? 0 : strides[k][axis];
      if (joins)
        strides_[k][last] = stride;
      else
        strides_[k].push_back(stride);
    }
  }

  Shape extents_;
  std::array<Shape, kOperands> strides_;
};

/// An operand's elements of a row side by side: where they are, or gathered into `workspace`, which
/// holds BroadcastRows::kMaxElements elements.
template <class T>
const T* adjacent(const T* operand, int64_t offset, int64_t step, int64_t length, T* workspace) {
  if (step == 1) return operand + offset;
  if (step == 0)
    std::fill_n(workspace, length, operand[offset]);
  else
    for (int64_t i = 0; i < length; ++i) workspace[i] = operand[offset + i * step];
  return workspace;
}

}  // namespace tenon::cpu
