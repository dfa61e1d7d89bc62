// Shapes as 8.x programs hold them.
#ifndef TENON_COMPAT8_DIMS_H
#define TENON_COMPAT8_DIMS_H

#include "NvInferRuntimeBase.h"

#if TENON_TRT_OLDER_NAMES
namespace nvinfer1 {

/// A shape with 32-bit dimensions: the layout of Dims in 8.x, as found in its serialised plugins.
struct Dims32 {
  static constexpr int32_t MAX_DIMS{8};

  int32_t nbDims;
  int32_t d[MAX_DIMS];
};

}  // namespace nvinfer1

namespace tenon {

/// The same shape with 64-bit dimensions.
inline nvinfer1::Dims to_dims(const nvinfer1::Dims32& shape) noexcept {
  nvinfer1::Dims result{shape.nbDims, {}};
  for (int32_t i = 0; i < nvinfer1::Dims::MAX_DIMS; ++i) result.d[i] = shape.d[i];
  return result;
}

/// The same shape with 32-bit dimensions; false if one does not fit.
inline bool to_dims32(const nvinfer1::Dims& shape, nvinfer1::Dims32* result) noexcept {
  result->nbDims = shape.nbDims;
  for (int32_t i = 0; i < nvinfer1::Dims::MAX_DIMS; ++i) {
    result->d[i] = 0;
    if (i >= shape.nbDims) continue;
    result->d[i] = static_cast<int32_t>(shape.d[i]);
    if (result->d[i] != shape.d[i]) return false;
  }
  return true;
}

}  // namespace tenon
#endif  // TENON_TRT_OLDER_NAMES

#endif  // TENON_COMPAT8_DIMS_H
