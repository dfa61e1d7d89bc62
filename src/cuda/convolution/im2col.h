// What the windows of a convolution see, as rows of a matrix.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

/// Of an image (images, channels, rows, columns) of 16-bit elements in rows: a row of the matrix
/// for each position of the result from `first` on, with a window's elements by channel, row and
/// column, and zeros up to `width`, a multiple of 8.
struct Im2colParameters {
  const void* data = nullptr;
  void* rows = nullptr;
  int64_t first = 0, count = 0;  // positions; all of them together fewer than 2^31
  int64_t channels = 0, width = 0;
  int64_t in[2] = {}, out[2] = {}, kernel[2] = {}, stride[2] = {}, dilation[2] = {}, pre[2] = {};
};

/// Not for empty matrices.
void launch_im2col(const Im2colParameters& p, cudaStream_t stream);

}  // namespace tenon::cuda
