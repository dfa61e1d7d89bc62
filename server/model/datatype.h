// Data types by the names of the Open Inference Protocol.
#pragma once

#include <NvInferRuntime.h>

#include <optional>
#include <string_view>

namespace tenon::server {

/// "FP32"; empty for types that the protocol does not have.
std::string_view datatype_name(nvinfer1::DataType type);
/// Nothing for names of types that models do not take: BYTES, UINT16, FP64 and others.
std::optional<nvinfer1::DataType> datatype_of(std::string_view name);

}  // namespace tenon::server
