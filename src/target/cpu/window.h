// The padding that a sliding window really has, once the shapes are known.
#pragma once

#include <NvInfer.h>

#include "base/shape.h"

namespace tenon::cpu {

/// Padding of each spatial axis before and after; after it never exceeds what the window reads.
struct Padding {
  Shape before, after;
};

/// @param large the spatial extents that are padded (a convolution's input, a deconvolution's
/// output)
/// @param small the number of window positions
/// @param pre the op's pre_padding, which the explicit modes use
Padding resolve_padding(nvinfer1::PaddingMode mode, const Shape& pre, const Shape& large,
                        const Shape& small, const Shape& kernel, const Shape& stride,
                        const Shape& dilation);

/// The extents behind batch and channel.
Shape spatial_of(const Shape& shape);

}  // namespace tenon::cpu
