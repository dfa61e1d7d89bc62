// Data types: TensorRT's enum with its names and sizes.
#pragma once

#include <NvInferRuntimeBase.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon {

using nvinfer1::DataType;

/// "float32", "int64", …: NumPy's names where NumPy has the type.
std::string_view name_of(DataType type);

/// Bits per element: 4 for int4 and fp4, 8 for bool.
int bits_of(DataType type);

/// Bytes of `count` elements; sub-byte types are packed, the last byte padded.
size_t bytes_of(DataType type, int64_t count);

inline bool is_float(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16
         || type == DataType::kFP8 || type == DataType::kFP4 || type == DataType::kE8M0;
}
/// float16 and bfloat16.
inline bool is_16bit_float(DataType type) {
  return type == DataType::kHALF || type == DataType::kBF16;
}
inline bool is_integer(DataType type) {
  return !is_float(type) && type != DataType::kBOOL;
}

}  // namespace tenon
