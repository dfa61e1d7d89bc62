// Copies of strided arrays to dense ones: what transposes, slices and broadcasts are.
#pragma once

#include <cstddef>

#include "base/shape.h"

namespace tenon::cpu {

/// A copy planned for certain extents; allocates nothing.
class StridedCopy {
 public:
  StridedCopy() = default;
  /// Elements of `bytes` bytes (1, 2, 4 or 8) to a dense result of shape `out`. A step of one along
  /// an axis of the result is `strides[axis]` elements of the source, which may be 0 or negative.
  StridedCopy(const Shape& out, const Shape& strides, size_t bytes);

  /// `source` is the element that the result's first one is a copy of.
  void run(const void* source, void* target) const;

 private:
  void copy_runs(const std::byte* source, std::byte* target) const;
  template <class T> void copy_elements(const std::byte* source, std::byte* target) const;
  template <class T> void turn(const std::byte* source, std::byte* target) const;
  template <class T>
  void turn_block(const std::byte* source, std::byte* target, int64_t rows, int64_t columns) const;
  template <class Body> void with_element(const Body& body) const;

  Shape extents_, strides_;  // strides in bytes; adjacent axes with a common step are one
  int64_t bytes_ = 1;        // of an element, which may be a few adjacent ones
  int turned_ = -1;          // an axis before the last that is dense in the source; -1: none
};

/// Walks the axes [0, axes) of an array, the last one fastest.
class Walk {
 public:
  Walk(const Shape& extents, const Shape& strides, int axes, int64_t position)
      : extents_(extents), strides_(strides), axes_(axes) {
    for (int i = axes - 1; i >= 0; --i) {
      index_[i] = position % extents[i];
      position /= extents[i];
      offset_ += index_[i] * strides[i];
    }
  }
  int64_t offset() const { return offset_; }
  void next() {
    for (int i = axes_ - 1; i >= 0; --i) {
      offset_ += strides_[i];
      if (++index_[i] < extents_[i]) return;
      offset_ -= extents_[i] * strides_[i];
      index_[i] = 0;
    }
  }

 private:
  const Shape& extents_;
  const Shape& strides_;
  int axes_;
  int64_t index_[Shape::kMaxRank] = {};
  int64_t offset_ = 0;
};

}  // namespace tenon::cpu
