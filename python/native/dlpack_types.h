// Element types as DLPack numbers them.
#pragma once

#include <NvInfer.h>
#include <nanobind/ndarray.h>

namespace tenon::python {

/// Types that DLPack lacks, or frameworks do not know, show their bits.
inline nanobind::dlpack::dtype dlpack_type(nvinfer1::DataType type) {
  using nanobind::dlpack::dtype_code;
  const auto of = [](dtype_code code, uint8_t bits) {
    return nanobind::dlpack::dtype{static_cast<uint8_t>(code), bits, 1};
  };
  switch (type) {
    case nvinfer1::DataType::kFLOAT:
      return of(dtype_code::Float, 32);
    case nvinfer1::DataType::kHALF:
      return of(dtype_code::Float, 16);
    case nvinfer1::DataType::kBF16:
      return of(dtype_code::Bfloat, 16);
    case nvinfer1::DataType::kINT8:
      return of(dtype_code::Int, 8);
    case nvinfer1::DataType::kINT32:
      return of(dtype_code::Int, 32);
    case nvinfer1::DataType::kINT64:
      return of(dtype_code::Int, 64);
    case nvinfer1::DataType::kBOOL:
      return of(dtype_code::Bool, 8);
    default:
      return of(dtype_code::UInt, 8);
  }
}

}  // namespace tenon::python
