// Convolution and its transpose by plain sums: any shape, any stride, any padding.
#pragma once

#include "cuda/convolution/window_axes.h"
#include "cuda/epilogue.h"

namespace tenon::cuda {

/// Elements between neighbours of an axis are `steps`: of batch, channel and the spatial axes.
struct DirectConvolution {
  DataType type = DataType::kFLOAT;  // of everything
  const void* data = nullptr;
  const void* weights = nullptr;
  void* result = nullptr;
  int64_t images = 0, groups = 1, depth = 0,
          output_channels = 0;  // depth and output channels of one group
  WindowAxes axes;
  int64_t data_steps[kAxes] = {};
  int64_t group_step = 0, channel_step = 0, depth_step = 0, tap_step = 0;  // of the weights
  bool transposed = false;
  EpilogueParameters epilogue;
};

/// Not for empty results.
void launch_direct_convolution(const DirectConvolution& p, cudaStream_t stream);

}  // namespace tenon::cuda
