// What TMA needs to know to load the operands of a product by wgmma.
#pragma once

#include "cuda/quantized_gemm.cuh"
#include "cuda/tma.h"

namespace tenon::cuda {
namespace {

constexpr int kDepth = QuantizedGemm::kDepth;  // bytes of a row that are multiplied at a time
constexpr int kStep = 32;                      // of which an instruction multiplies so many

// What TMA needs to know, where it can load the data: a thread asks for a whole slice then. Else a
// warpgroup copies chunks of it.
struct TmaDescriptors {
  CUtensorMap data, addend;
  /// Bytes that are loaded at once for a position, of one element of the window; 0: none.
  int run = 0;
  int runs = 0, last_runs = 0;  // of a slice, and of the last one
  bool is_matrix = false;  // rows of the result are of rows of the data; else of windows (im2col)
};

// Whether the addend's tiles come through stages; else lanes read it from where it is.
__host__ __device__ bool has_addend_stage(const QuantizedGemm& p) {
  return p.epilogue.has_addend() && p.output_channels % kChunk == 0;
}

// Rows of a matrix of bytes, swizzled as swizzled<row_bytes>() has them.
bool describe_rows(const void* matrix, int64_t rows, int columns, int tile_rows, int row_bytes,
                   CUtensorMap& description) {
  return describe_boxes(description, CU_TENSOR_MAP_DATA_TYPE_UINT8, matrix,
                        {{columns, 1, row_bytes}, {rows, columns, tile_rows}}, row_bytes);
}

// The windows of the data. TMA pads with zeros, and counts lines and columns of windows in 8 bits.
bool describe_data(const QuantizedGemm& p, int rows, int run, CUtensorMap& map) {
  static const auto encode =
      driver_function<decltype(cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  constexpr int kMaxStride = 8;
  int lower[2], upper[2];
  for (int i = 0; i < 2; ++i) {
    const int axis = 1 - i;
    lower[i] = -p.pre[axis];
    upper[i] = lower[i] + (p.out[axis] - 1) * p.stride[axis] - (p.in[axis] - 1);
    const auto fits = [](int x) { return x >= -128 && x < 128; };
    if (!fits(lower[i]) || !fits(upper[i]) || p.stride[axis] > kMaxStride
        || (p.kernel[axis] - 1) * p.dilation[axis] > 255)
      return false;
  }
  const auto number = [](int64_t x) { return static_cast<cuuint64_t>(x); };
  const cuuint64_t extents[] = {number(p.channels), number(p.in[1]), number(p.in[0]),
                                number(p.images)};
  const cuuint64_t strides[] = {extents[0], extents[0] * extents[1],
                                extents[0] * extents[1] * extents[2]};
  const cuuint32_t steps[] = {1, static_cast<cuuint32_t>(p.stride[1]),
                              static_cast<cuuint32_t>(p.stride[0]), 1};
  const CUtensorMapSwizzle swizzle = run == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : run == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                 : CU_TENSOR_MAP_SWIZZLE_32B;
  return encode != nullptr
         && encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, const_cast<void*>(p.data), extents,
                   strides, lower, upper, static_cast<cuuint32_t>(run),
                   static_cast<cuuint32_t>(rows), steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
                == CUDA_SUCCESS;
}

TmaDescriptors make_descriptors(const QuantizedGemm& p, const Tiles& tiles, int rows, int columns) {
  TmaDescriptors descriptors;
  const bool is_pointwise = p.kernel[0] == 1 && p.kernel[1] == 1;
  const auto is_padded = [&](int axis) {
    const int64_t last = int64_t{p.out[axis] - 1} * p.stride[axis]
                         + int64_t{p.kernel[axis] - 1} * p.dilation[axis] - p.pre[axis];
    return p.pre[axis] > 0 || last >= p.in[axis];
  };
  if ((is_padded(0) || is_padded(1)) && !p.pads_with_zeros) return descriptors;
  int run = kDepth;
  while (!is_pointwise && run >= kStep && p.channels % run != 0) run /= 2;
  const auto is_same = [&](int axis) {
    return p.pre[axis] == 0 && p.stride[axis] == 1 && p.in[axis] == p.out[axis];
  };
  descriptors.is_matrix = is_pointwise && is_same(0) && is_same(1);
  const bool has_data =
      descriptors.is_matrix
          ? describe_rows(p.data, tiles.rows, p.channels, rows, run, descriptors.data)
          : run >= kStep && describe_data(p, rows, run, descriptors.data);
  if (!has_data
      || (has_addend_stage(p)
          && !describe_rows(p.epilogue.addend, tiles.rows, p.output_channels, rows, columns,
                            descriptors.addend)))
    return descriptors;
  descriptors.run = run;
  descriptors.runs = descriptors.last_runs = kDepth / run;
  // What lies behind the window zeros of the weights multiply, and is not loaded; but zeros are for
  // fp8, which has NaN.
  const int rest = p.depth() % kDepth;
  if (!p.is_float8 && rest > 0) descriptors.last_runs = (rest + run - 1) / run;
  return descriptors;
}

}  // namespace
}  // namespace tenon::cuda
