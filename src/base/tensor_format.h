// TensorFormat: TensorRT's names of how tensors lie in memory, at the border of a network and where
// plugins read and write them.
#pragma once

#include <NvInferRuntime.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/layout.h"

namespace tenon {

/// The name as it stands in TensorFormat: "kHWC8".
std::string_view name_of(nvinfer1::TensorFormat format);

/// All of them, kLINEAR first: who may choose takes the first that can be.
const std::vector<nvinfer1::TensorFormat>& tensor_formats();

/// Why no tensor of that type and rank can have the format; "" if one can.
/// @param has_batch the first axis is an implicit batch, whose items have the format.
std::string refusal_of(nvinfer1::TensorFormat format, DataType type, int rank, bool has_batch);

/// The layout of tensors of that format and rank.
/// @pre refusal_of() has nothing against them.
Layout layout_of(nvinfer1::TensorFormat format, int rank);

/// The format of a tensor that lies so; kLINEAR for a layout of no format.
nvinfer1::TensorFormat format_of(Layout layout, int rank);

}  // namespace tenon
