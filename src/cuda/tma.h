// Descriptors for copies by TMA, of compute capability 9.0, which the driver makes.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <initializer_list>

namespace tenon::cuda {

/// A function of the driver; null if it has none.
template <class Function> Function* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  constexpr unsigned kVersion = 12000;
  if (cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result)
      != cudaSuccess)
    return nullptr;
  return reinterpret_cast<Function*>(found);
}

/// A tensor whose boxes are copied: along each axis, innermost first, its extent, the bytes from
/// one element to the next, which are `element_bytes` for the first, and those of a box. What a box
/// has behind an extent is read as zero and not written. Rows of a box are swizzled within 64 or
/// 128 bytes.
struct TmaAxis {
  int64_t extent, step_bytes;
  int box;
};
inline bool describe_boxes(CUtensorMap& description, CUtensorMapDataType type, const void* data,
                           std::initializer_list<TmaAxis> axes, int row_bytes) {
  static const auto encode =
      driver_function<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  constexpr int kMaxRank = 5;
  cuuint64_t extents[kMaxRank] = {}, steps[kMaxRank] = {};
  cuuint32_t box[kMaxRank] = {}, every[kMaxRank] = {};
  cuuint32_t rank = 0;
  for (const TmaAxis& axis : axes) {
    extents[rank] = static_cast<cuuint64_t>(axis.extent);
    steps[rank] = static_cast<cuuint64_t>(axis.step_bytes);
    box[rank] = static_cast<cuuint32_t>(axis.box);
    every[rank++] = 1;
  }
  return encode != nullptr
         && encode(&description, type, rank, const_cast<void*>(data), extents, steps + 1, box,
                   every, CU_TENSOR_MAP_INTERLEAVE_NONE,
                   row_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
                == CUDA_SUCCESS;
}

}  // namespace tenon::cuda
