// Layers that sample feature maps at positions that are data, by the kernels that plugins use, as
// their .cu file has them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

/// Types are numbers of a DataType: float32, float16 or bfloat16. Where scratch memory is wanted,
/// scratch_bytes() says how much. As kernels/grid_sample.h has it.
struct GridSampling {
  int32_t type;
  const void *x = nullptr, *grid = nullptr;
  void* y = nullptr;
  int64_t images, channels, depth, height, width, pixels;
  int axes;                        // 2 or 3
  int32_t interpolation, padding;  // kernels::GridInterpolation, kernels::GridPadding
  bool align_corners;
};
void launch_grid_sample(const GridSampling& call, cudaStream_t stream);

/// As kernels/roi_align.h has it.
struct RegionAlignment {
  int32_t type;
  const void *x = nullptr, *rois = nullptr;
  const void* images = nullptr;  // of the regions; int32, or int64 if is_wide
  bool is_wide;
  void *y = nullptr, *scratch = nullptr;
  int64_t map_images, channels, map_height, map_width;
  int64_t count, height, width;  // of the results
  int64_t sampling_ratio;
  int32_t pooling;  // kernels::RoiPooling
  float scale;
  bool half_pixel;
};
size_t scratch_bytes(const RegionAlignment& call);
void launch_roi_align(const RegionAlignment& call, cudaStream_t stream);

/// The maximum of each bin of regions (image, x1, y1, x2, y2), 0 where it is empty, or where there
/// is no such image.
struct RegionMaxima {
  int32_t type;
  const void *x = nullptr, *rois = nullptr;
  void* y = nullptr;
  int64_t images, channels, map_height, map_width;
  int64_t count, height, width;  // of the results
  float scale;
};
void launch_max_roi_pool(const RegionMaxima& call, cudaStream_t stream);

/// As kernels/deformable_convolution.h has it.
struct DeformedConvolution {
  int32_t type;
  const void *x = nullptr, *offsets = nullptr, *kernel = nullptr;
  const void *mask = nullptr, *bias = nullptr;  // may stay null
  void *y = nullptr, *scratch = nullptr;
  int64_t images, channels, in_height, in_width;
  int64_t output_channels, height, width;  // of the result
  struct Axis {
    int64_t taps, stride, padding, dilation;
  } rows, columns;
  int64_t groups, offset_groups;
};
size_t scratch_bytes(const DeformedConvolution& call);
void launch_deformable_convolution(const DeformedConvolution& call, cudaStream_t stream);

}  // namespace tenon::cuda
