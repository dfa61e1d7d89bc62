// Windows that slide over spatial axes: what convolution, deconvolution and pooling share.
#pragma once

#include <vector>

#include "base/expr.h"
#include "base/shape.h"
#include "network/op.h"

namespace tenon {

using nvinfer1::PaddingMode;

/// How a window moves along one axis.
struct Window {
  int64_t kernel = 1, stride = 1, dilation = 1, pre = 0, post = 0;

  /// Elements from the first to the last that one window touches.
  int64_t reach() const { return dilation * (kernel - 1) + 1; }
};

/// One window per spatial axis. Throws unless all lists have `spatial` entries in their ranges;
/// empty `dilation`, where it may be left out, means ones.
std::vector<Window> make_windows(int spatial, const Shape& kernel, const Shape& stride,
                                 const Shape& dilation, const Shape& pre, const Shape& post);

/// Throws unless the mode is one of TensorRT's four.
void check_padding_mode(PaddingMode mode);

/// The extent of a convolution's output along an axis. Throws when a window does not fit.
Dim convolved(ExprPool& pool, Dim in, const Window& w, PaddingMode mode);
/// The same for pooling, where windows that start beyond the input and its padding before do not
/// count when rounding up.
Dim pooled(ExprPool& pool, Dim in, const Window& w, PaddingMode mode);
/// The extent of a deconvolution's output along an axis.
Dim deconvolved(ExprPool& pool, Dim in, const Window& w, int64_t output_padding, PaddingMode mode);

/// The window with the padding that it has for concrete extents, `out` of the output: resolves the
/// SAME modes, and never gives negative padding before.
Window resolved(Window w, int64_t in, int64_t out, PaddingMode mode);
/// The same for a deconvolution.
Window resolved_transposed(Window w, int64_t in, int64_t out, int64_t output_padding,
                           PaddingMode mode);

}  // namespace tenon
