// Pictures of any extents as samples of a network's input.
#pragma once

#include <NvInfer.h>
#include <tenon/session/array.h>

#include <span>
#include <string>

#include "picture_options.h"

namespace tenon::tool {

/// A batch of the pictures in these files, by serve's pre-processing: bilinear interpolation.
/// Throws Failure, naming the file that cannot be read, or the input when it is not of rank 4, of
/// 1 or 3 channels, and of float32, float16 or uint8.
/// @param shape of one sample, whose first extent is 1
session::Array picture_batch(std::span<const std::string> files, const nvinfer1::ITensor& input,
                             const session::Shape& shape, const PictureSampleOptions& options);

}  // namespace tenon::tool
