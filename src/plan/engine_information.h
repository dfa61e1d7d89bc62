// What IEngineInspector tells of a plan, in the words of TensorRT's engine inspector, which its
// tools read. Needs no plugin and no kernel.
#pragma once

#include <string>

#include "plan/plan.h"

namespace tenon {

/// "Row major linear FP32": a type and layout as TensorRT's tools know them.
std::string format_description(DataType type, Layout layout);

/// One layer by the plan's verbosity: nothing, its name, or all of it.
/// @param shapes concrete shapes per plan tensor (from a context), or empty: then extents that are
///     not fixed are -1.
std::string layer_information(const Plan& plan, size_t step, const std::vector<Shape>& shapes,
                              nvinfer1::LayerInformationFormat format);

/// All layers, and the names of inputs and outputs.
std::string engine_information(const Plan& plan, const std::vector<Shape>& shapes,
                               nvinfer1::LayerInformationFormat format);

}  // namespace tenon
