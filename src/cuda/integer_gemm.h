// An implicit GEMM of bytes by tensor cores: convolutions without groups, the channels last, and
// products of matrices.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/integer_epilogue.h"

namespace tenon::cuda {

/// The result has a row for each position of the result, and a column for each output channel. A
/// product of matrices is a convolution of an image of one line, whose positions are the rows.
struct IntegerGemm {
  /// Rows and columns of what a block makes: by mma.sync, and by wgmma, which GPUs of compute
  /// capability 9.0 have alone.
  enum class Tile : uint8_t {
    k128x128,
    k128x64,
    k64x64,
    k64x32,
    kWarpgroups256x128,
    kWarpgroups128x256,
    kWarpgroups128x128,
    kWarpgroups128x64
  };
  /// Bytes of the weights' rows are a multiple of it, and filled up with zeros.
  static constexpr int kDepth = 128;

  bool data_is_signed = true;
  const void* data = nullptr;     // (images, lines, columns, channels)
  const void* padding = nullptr;  // 16 bytes of the data's zero point, at a multiple of 16
  /// int8 (output channels, kernel's lines, its columns and channels), less their zero points, at a
  /// multiple of 16. Each line is filled up to line_bytes(), and each row to row_bytes().
  const void* weights = nullptr;
  const int32_t* bias = nullptr;         // one for each output channel
  const int32_t* weights_sum = nullptr;  // of each output channel, which the zero point multiplies
  void* result = nullptr;                // (images, lines, columns, output channels)

  int images = 1, channels = 0, output_channels = 0;
  int in[2] = {1, 1}, out[2] = {1, 1};  // lines and columns
  int kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, pre[2] = {};
  Tile tile = Tile::k128x128;
  IntegerEpilogue epilogue;

  /// Bytes that are copied at once: of one element of the window where they divide the channels, of
  /// neighbours along a line where they do not.
  static constexpr int kChunk = 16;
  /// Bytes of a line of the window, and of a row of the weights.
  static constexpr int64_t line_bytes(int64_t columns, int64_t channels) {
    return (columns * channels + kChunk - 1) / kChunk * kChunk;
  }
  static constexpr int64_t row_bytes(int64_t lines, int64_t columns, int64_t channels) {
    return (lines * line_bytes(columns, channels) + kDepth - 1) / kDepth * kDepth;
  }
  constexpr int line_bytes() const { return static_cast<int>(line_bytes(kernel[1], channels)); }
  constexpr int row_bytes() const {
    return static_cast<int>(row_bytes(kernel[0], kernel[1], channels));
  }
};

/// Not for empty results. Fewer than 2^31 positions, and bytes of a row of the weights; a dilation
/// along lines only where kChunk divides the channels.
void launch_integer_gemm(const IntegerGemm& p, cudaStream_t stream);
/// The tiles of wgmma.
void launch_integer_gemm_of_warpgroups(const IntegerGemm& p, cudaStream_t stream);

}  // namespace tenon::cuda
