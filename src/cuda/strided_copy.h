// Copies of strided arrays to dense ones: what transposes, slices, paddings and broadcasts are.
#pragma once

#include <cuda_runtime_api.h>

#include "base/shape.h"
#include "cuda/strided_copy_launch.h"

namespace tenon::cuda {

/// A copy of certain extents.
class StridedCopy {
 public:
  StridedCopy() = default;
  /// Elements of `bytes` bytes (1, 2, 4 or 8) to a dense result of shape `out`. A step of one along
  /// an axis of the result is `strides[axis]` elements of the source, which may be 0 or negative.
  StridedCopy(const Shape& out, const Shape& strides, int64_t bytes);

  /// Puts it into the stream. `source` is the element that the result's first one is a copy of.
  void run(const void* source, void* target, cudaStream_t stream) const;

 private:
  Shape extents_, strides_;  // strides in bytes; adjacent axes with a common step are one
  int64_t bytes_ = 1;
};

/// A copy whose samples may lie outside of the source.
class SampledCopy {
 public:
  /// From an array of shape `in`; sample i of an axis is position start + i * step.
  SampledCopy(const Shape& in, const Shape& out, const Shape& start, const Shape& step,
              Outside outside, int64_t bytes);

  /// `fill` is an element in the device's memory; null for zeros.
  void run(const void* source, const void* fill, void* target, cudaStream_t stream) const;

 private:
  WordCopy copy_ = {};
  SampledAxis axes_[kMaxAxes] = {};
  Outside outside_;
  bool ends_whole_ = false;  // the last axis is one run
};

/// The most bytes, up to 16, that are a word to which addresses and distances are aligned.
template <class... Distances> int64_t common_word(Distances... distances) {
  const uint64_t all = (uint64_t{16} | ... | static_cast<uint64_t>(distances));
  return static_cast<int64_t>(all & (~all + 1));
}
inline uint64_t address_of(const void* data) {
  return reinterpret_cast<uint64_t>(data);
}

}  // namespace tenon::cuda
