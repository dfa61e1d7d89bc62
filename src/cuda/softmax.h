// Softmax along one axis of a tensor in memory order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"

namespace tenon::cuda {

/// Data (outer, extent, inner), softmax along the middle; result may be the data. All in float32.
struct SoftmaxParameters {
  DataType type = DataType::kFLOAT;
  const void* data = nullptr;
  void* result = nullptr;
  int64_t outer = 0, extent = 0, inner = 0;
  /// int32 or int64, one for each row: only so many of its elements count, the rest become 0. Null:
  /// all do. For `inner` 1.
  const void* lengths = nullptr;
  DataType length_type = DataType::kINT32;
};

void launch_softmax(const SoftmaxParameters& parameters, cudaStream_t stream);

}  // namespace tenon::cuda
