// An implicit GEMM of bytes, integers or fp8, by tensor cores: convolutions without groups, the
// channels last, and products of matrices.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/quantized_epilogue.h"

namespace tenon::cuda {

/// The result has a row for each position of the result, and a column for each output channel. A
/// product of matrices is a convolution of an image of one line, whose positions are the rows.
struct QuantizedGemm {
  /// Rows and columns of what a block makes by mma.sync, and a group of four warps by wgmma, which
  /// GPUs of compute capability 9.0 have alone.
  enum class Tile : uint8_t {
    k128x128,
    k128x64,
    k64x64,
    k32x64,
    kLines,  // 128x64, of lines of the data in shared memory
    kWarpgroup128x128,
    kWarpgroup128x64,
    kWarpgroup64x64,
    kWarpgroups192x128  // of three together
  };

  bool is_float8 = false;  // data and weights are fp8, whose sums are float; else integers
  bool data_is_signed = true;
  const void* data = nullptr;     // (images, lines, columns, channels)
  const void* padding = nullptr;  // 16 bytes of the data's zero point, at a multiple of 16
  bool pads_with_zeros = false;   // that is 0
  /// fp8, or int8 less their zero points, as weight_at() tells, zeros between; at a multiple of 16.
  const void* weights = nullptr;
  const int32_t* bias = nullptr;         // one for each output channel
  const int32_t* weights_sum = nullptr;  // of each output channel, which the zero point multiplies
  void* result = nullptr;                // (images, lines, columns, output channels)

  int images = 1, channels = 0, output_channels = 0;
  int in[2] = {1, 1}, out[2] = {1, 1};  // lines and columns
  int kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, pre[2] = {};
  Tile tile = Tile::k128x128;
  bool is_of_warpgroups() const { return tile >= Tile::kWarpgroup128x128; }
  QuantizedEpilogue epilogue;

  /// Bytes that are copied at once: of one element of the window where they divide the channels, of
  /// neighbours along a line where they do not.
  static constexpr int kChunk = 16;
  /// Bytes of a line of the window, filled up.
  static constexpr int64_t line_bytes(int64_t columns, int64_t channels) {
    return (columns * channels + kChunk - 1) / kChunk * kChunk;
  }
  constexpr int line_bytes() const { return static_cast<int>(line_bytes(kernel[1], channels)); }
  /// What is multiplied for an element of the result: the lines of its window.
  constexpr int depth() const { return kernel[0] * line_bytes(); }

  /// The weights lie in slices of kDepth bytes of all output channels, each as it is in shared
  /// memory: swizzled for wgmma. Output channels are filled up to groups of kGroup, in which their
  /// order is that of a tensor core's sums: a lane has 2 of each 8, and those that it writes at
  /// once are neighbours.
  static constexpr int kDepth = 128, kGroup = 64;
  static constexpr int64_t padded(int64_t output_channels) {
    return (output_channels + kGroup - 1) / kGroup * kGroup;
  }
  static constexpr int64_t weights_bytes(int64_t output_channels, int64_t depth) {
    return (depth + kDepth - 1) / kDepth * kDepth * padded(output_channels);
  }
  static int64_t weight_at(DataType result, int64_t output_channels, int64_t output_channel,
                           int64_t depth) {
    constexpr int kLanes = 4;
    const int64_t at_once = 128 / bits_of(result), of_lanes = kLanes * at_once;
    const int64_t in_group = output_channel % kGroup, lane = in_group % of_lanes / at_once;
    const int64_t in_lane = in_group / of_lanes * at_once + in_group % at_once;
    const int64_t row = output_channel - in_group + in_lane / 2 * 8 + lane * 2 + in_lane % 2;
    const int64_t slice = depth / kDepth, chunk = depth % kDepth / kChunk;
    return (slice * padded(output_channels) + row) * kDepth + (chunk ^ row % 8) * kChunk
           + depth % kChunk;
  }
};

/// Not for empty results. Fewer than 2^31 positions, and bytes of a row of the weights; a dilation
/// along lines only where kChunk divides the channels.
void launch_quantized_gemm(const QuantizedGemm& p, cudaStream_t stream);
/// The same for fp8, from compute capability 8.9 on; not Tile::kLines.
void launch_float8_gemm(const QuantizedGemm& p, cudaStream_t stream);
/// Tile::kLines, for integers and dilations of 1 along lines; false where the lines do not fit into
/// shared memory.
bool launch_quantized_gemm_of_lines(const QuantizedGemm& p, cudaStream_t stream);
/// The tiles of wgmma, where kChunk divides the channels.
void launch_quantized_gemm_of_warpgroups(const QuantizedGemm& p, cudaStream_t stream);
void launch_float8_gemm_of_warpgroups(const QuantizedGemm& p, cudaStream_t stream);

}  // namespace tenon::cuda
