// Few channels that lie in rows, as vectors of those of all parts of a convolution's windows.
#pragma once

#include "cpu/convolution/winograd_form.h"

namespace tenon::cpu {

class WinogradGather {
 public:
  /// @param results of a row that one call is for, at most. The stride along rows is 1.
  WinogradGather(const WinogradForm& form, int64_t results);

  /// Scratch memory of a call.
  int64_t floats() const { return gathered_floats() + padded_floats() + columns_; }
  /// From one row of gathered vectors to the next, and to the next vector of channels.
  int64_t row_step() const { return width_ * form_.lanes; }
  int64_t vector_step() const { return form_.size * row_step(); }

  /// What the tiles of a row read whose first one begins at element (y, x) of an image; elements
  /// outside are zeros. The result lies at the begin of `workspace`.
  void gather(const float* image, int64_t height, int64_t width, int64_t y, int64_t x,
              float* workspace) const;

 private:
  int64_t gathered_floats() const { return form_.depth() / form_.lanes * vector_step(); }
  int64_t padded_floats() const { return form_.channels * rows_ * columns_; }

  const WinogradForm& form_;
  int64_t top_, left_;      // of all parts, counted from a window's first element
  int64_t rows_, columns_;  // of a channel that are read
  int64_t width_;           // vectors of a gathered row
};

}  // namespace tenon::cpu
