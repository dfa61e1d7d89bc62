// ONNX models as bytes with all that belongs to them.
#pragma once

#include <string>

#include "onnx_model/tensors.h"

namespace tenon {

/// The bytes of a model, into which weights in files of their own come: a model in memory has no
/// folder for the files beside it. Throws Error for a file that is not there, for types that have
/// no counterpart, and for a result above 2 GiB.
std::string whole_bytes(onnx::ModelProto& model, TensorSource& source);

}  // namespace tenon
