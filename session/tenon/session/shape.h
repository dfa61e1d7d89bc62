// Shapes and the values of inputs that decide shapes: 64 bits wide from end to end.
#ifndef TENON_SESSION_SHAPE_H
#define TENON_SESSION_SHAPE_H

#include <NvInferRuntime.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tenon/session/result.h"

namespace tenon::session {

/// Extents, outermost first; -1 for one that is not known yet.
using Shape = std::vector<int64_t>;
/// By the name of an input: its shape or, where the input decides shapes, its values.
using Shapes = std::map<std::string, Shape>;

/// No dimensions also for those of a tensor that does not exist.
Shape to_shape(const nvinfer1::Dims& dims);
/// An error for more dimensions than TensorRT has.
Result<nvinfer1::Dims> to_dims(const Shape& shape);
/// Whether no extent is left open.
bool is_known(const Shape& shape);
bool is_known(const nvinfer1::Dims& dims);
/// "1x3x224x224"; "scalar" for rank 0.
std::string shape_text(const Shape& shape);
/// "[0, 2, 5]": where element `i` of an array of that shape is.
std::string position_text(const Shape& shape, size_t i);

}  // namespace tenon::session

#endif  // TENON_SESSION_SHAPE_H
