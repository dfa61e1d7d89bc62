// A request's tensors, from Triton's buffers and to them.
#pragma once

#include <model/model.h>

#include "abi.h"

namespace tenon::triton {

/// Triton's number of an element type. @pre a model has it.
TRITONSERVER_DataType triton_type(nvinfer1::DataType type);

/// The inputs, and the names of the outputs that are wanted. An input that lies in one aligned
/// buffer of the host is a view of it; others are copied. Throws an Error that names the input.
server::InferRequest read_request(TRITONBACKEND_Request* request);

/// Adds an output. Throws an Error.
void write_output(TRITONBACKEND_Response* response, const std::string& name, serve::Tensor& tensor);

}  // namespace tenon::triton
