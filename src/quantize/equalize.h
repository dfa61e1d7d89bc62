// Channels of neighbouring convolutions brought to the same range.
#pragma once

#include "onnx_model/tensors.h"

namespace tenon {

/// Scales each channel between two convolutions of constant float32 weights by s = sqrt(r1 / r2),
/// where r1 is the largest magnitude of the weights that make it and r2 of those that read it: the
/// first's weights and bias become w / s, the second's w * s. So tensors that have one scale in
/// int8 lose less in their small channels, and what the network computes stays the same. Pairs are
/// those that nothing but ReLU, leaky ReLU and pooling, which commute with factors above 0, lies
/// between; a depthwise convolution is the second of one and the first of the next. Repeated until
/// no s is far from 1.
///
/// Nagel, van Baalen, Blankevoort, Welling: "Data-Free Quantization Through Weight Equalization and
/// Bias Correction", ICCV 2019, section 4.1.
/// @return how many pairs there are.
int equalize(onnx::ModelProto& model, TensorSource& source);

}  // namespace tenon
