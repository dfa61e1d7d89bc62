// The sliding window that convolutions and poolings share, as ONNX spells it.
#pragma once

#include <vector>

#include "import/node.h"

namespace tenon {

struct OnnxWindow {
  std::vector<int64_t> kernel, stride, dilation, before, after;  // one entry per spatial axis
  nvinfer1::PaddingMode mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;

  /// As the shape of a layer, which has at least two spatial axes.
  Shape padded(const std::vector<int64_t>& values, int64_t neutral) const;
  template <class LayerOp> void apply(LayerOp& op) const {
    if constexpr (requires { op.kernel; })
      op.kernel = padded(kernel, 1);
    else
      op.window = padded(kernel, 1);
    op.stride = padded(stride, 1);
    op.pre_padding = padded(before, 0);
    op.post_padding = padded(after, 0);
    op.padding_mode = mode;
  }
};

/// 1 to 3, from the rank of input 0; throws for others.
int spatial_axes(NodeContext& n);

/// Reads strides, dilations, pads and auto_pad; checks their number and signs.
OnnxWindow read_window(NodeContext& n, const std::vector<int64_t>& kernel);

/// (N,C,L) as (N,C,L,1), and back.
Value& with_second_axis(NodeContext& n, Value& x);
Value& without_second_axis(NodeContext& n, Value& x);

}  // namespace tenon
