// SmoothQuant: outliers of activations go into the weights that multiply them.
#pragma once

#include "onnx_model/tensors.h"
#include "quantize/channel_values.h"

namespace tenon {

/// Divides what MatMul and Gemm nodes with constant weights read by a factor for each channel, with
/// a Mul in front of them, and multiplies the weights' rows by it: s = max|x|^alpha / max|w|^(1 -
/// alpha), where max|w| is over all nodes that read the tensor so. What the network computes stays
/// the same. With alpha at 1 all of the differences between channels goes into the weights, at 0
/// none does.
///
/// Xiao, Lin, Seznec, Wu, Demouth, Han: "SmoothQuant: Accurate and Efficient Post-Training
/// Quantization for Large Language Models", ICML 2023, section 4.
/// @param largest magnitudes of the channels; tensors that are not in it stay as they are.
/// @return how many tensors are smoothed.
int smooth(onnx::ModelProto& model, const ChannelValues& largest, float alpha,
           TensorSource& source);

}  // namespace tenon
