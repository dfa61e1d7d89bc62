// Stand-in for the weight utilities of TensorRT 8.x, which are not supported.
#ifndef NV_UTILS_H
#define NV_UTILS_H

#include "NvInfer.h"
#include "tenon/compat8/unsupported.h"

namespace nvinfer1 {
namespace utils {

/// Logs an error and returns false.
inline bool reshapeWeights(const Weights&, const int32_t*, const int32_t*, void*,
                           int32_t) noexcept {
  tenon::unsupported("reshapeWeights is not supported: permute the weights before passing them");
  return false;
}

/// Logs an error and returns false.
inline bool reorderSubBuffers(void*, const int32_t*, int32_t, int32_t) noexcept {
  tenon::unsupported("reorderSubBuffers is not supported: reorder the weights before passing them");
  return false;
}

/// Logs an error and returns false.
inline bool transposeSubBuffers(void*, DataType, int32_t, int32_t, int32_t) noexcept {
  tenon::unsupported(
      "transposeSubBuffers is not supported: transpose the weights before passing them");
  return false;
}

}  // namespace utils
}  // namespace nvinfer1

#endif  // NV_UTILS_H
