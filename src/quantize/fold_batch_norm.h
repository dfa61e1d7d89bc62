// Batch norms behind convolutions, taken into the weights.
#pragma once

#include "onnx_model/tensors.h"

namespace tenon {

/// A BatchNormalization that is the only reader of a Conv becomes part of its weights and bias,
/// where all of these are constants of float32: w' = w * f and b' = (b - mean) * f + B for each
/// output channel, with f = scale / sqrt(var + epsilon). The Conv then makes the normalized tensor.
/// So the scales of int8 are those of the weights that run.
/// @return how many were.
int fold_batch_norms(onnx::ModelProto& model, TensorSource& source);

}  // namespace tenon
