// Models of opset 11 and 12 as such of opset 13.
#pragma once

#include <map>
#include <string>

#include "onnx_model/model.h"

namespace tenon {

/// How many axes tensors have, by name; those that are not known are left out.
using TensorRanks = std::map<std::string, int>;

/// Opset 13 is the first whose DequantizeLinear has a scale for each channel. Squeeze, Unsqueeze,
/// ReduceSum and Split get their axes and sizes as inputs, Dropout loses its ratio, and Softmax,
/// LogSoftmax and Hardmax name the axis that they go along. Other opsets stay as they are.
/// @return why the model stays as it is: a Softmax over several axes at once, or one of unknown
/// rank;
/// "" where it is of opset 13 now, or is none of these two.
/// Semantics: ONNX's operator changelog.
std::string raise_opset(onnx::ModelProto& model, const TensorRanks& ranks);

}  // namespace tenon
