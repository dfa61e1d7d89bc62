// TensorFormat: how a caller wants an input or output to lie in memory.
#pragma once

#include <NvInfer.h>

#include <string_view>

#include "base/layout.h"
#include "network/network.h"

namespace tenon {

/// The name as it stands in TensorFormat: "kHWC8".
std::string_view name_of(nvinfer1::TensorFormat format);

/// The layout of an input or output: linear where the caller allows it, else that of the first
/// format which its rank and type can have. Throws where none is left.
/// @param max_batch Plan::max_batch: where it is not 0, the first axis is the batch.
Layout io_layout(const Value& v, int32_t max_batch);

/// The format of an input or output that lies so.
nvinfer1::TensorFormat format_of(Layout layout, int rank);

/// Whether channels fill all groups, whatever the shape is: nothing is padded.
bool fills_groups(const Value& v, Layout layout);

/// Where nothing is padded, a layout of inputs and outputs may be one that kernels know: that one,
/// else the layout itself.
Layout unpadded(const Value& v, Layout layout);

}  // namespace tenon
