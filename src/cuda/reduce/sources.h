// CUDA C++ for layers that look at neighbours: running sums, windows of channels, blocks.
#pragma once

#include <optional>
#include <string>

#include "ops/cumulative.h"
#include "ops/dynamic_quantize.h"
#include "ops/lrn.h"

namespace tenon::cuda {

/// Kernels `threads`, where a thread goes along a line, and `blocks`, where a block does.
std::string cumulative_source(const Cumulative& op, DataType type);

/// Kernel `lrn`.
std::string lrn_source(const Lrn& op, DataType type);

/// Kernel `scales`: the scale of each block of data, by a warp. `unit_type` is nothing where scales
/// are stored as they are.
std::string block_scales_source(const DynamicQuantize& op, DataType type,
                                std::optional<DataType> unit_type);

}  // namespace tenon::cuda
