// Types and formats of a model's inputs and outputs from the command line.
#pragma once

#include "model.h"

namespace tenon::tool {

/// "fp16" and the like, the value of `option`. Throws Failure.
nvinfer1::DataType parse_type(const char* option, std::string_view text);

/// "fp16" for kHALF; "" for types that the options do not name.
const char* type_option_name(nvinfer1::DataType type);

/// Whether it is float32, float16 or bfloat16.
bool is_float(nvinfer1::DataType type);

/// Applies `--inputIOFormats` and `--outputIOFormats`: "fp16:chw", "fp32:chw+hwc,int8:chw"; one for
/// all tensors, or one for each in the network's order. An input whose type differs from the
/// model's is cast, except in strongly typed networks. Throws Failure.
void set_io_formats(session::Model& model, const BuildOptions& options, Logger& logger);

}  // namespace tenon::tool
