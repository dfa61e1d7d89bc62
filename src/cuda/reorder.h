// Changes of layout on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/channel_groups.h"

namespace tenon::cuda {

/// out[m][c][r] = in[m][r][c]; `bytes` of an element are 1, 2, 4 or 8.
struct TransposeParameters {
  const void* in = nullptr;
  void* out = nullptr;
  int64_t matrices = 0, rows = 0, columns = 0;
  int64_t bytes = 0;
};

/// Not for empty matrices.
void launch_transpose(const TransposeParameters& p, cudaStream_t stream);

/// The same elements in other groups of channels; what pads the result is zero. `bytes` of an
/// element are 1, 2, 4 or 8.
void launch_regroup(const void* in, const ChannelGroups& from, void* out, const ChannelGroups& to,
                    int64_t bytes, cudaStream_t stream);

}  // namespace tenon::cuda
