#include "cuda/element_types.cuh"
#include "cuda/elements.cuh"
#include "cuda/sampling.h"
#include "tenon/kernels/deformable_convolution.h"
#include "tenon/kernels/grid_sample.h"
#include "tenon/kernels/roi_align.h"

namespace tenon::cuda {
namespace {

kit::Device device_of(cudaStream_t stream, void* scratch = nullptr) {
  kit::Device device;
  device.stream = stream;
  device.workspace = scratch;
  return device;
}

kernels::DeformableConvolutionRule rule_of(const DeformedConvolution& c) {
  const auto axis = [](const DeformedConvolution::Axis& a) {
    return kernels::DeformableAxis{a.taps, a.stride, a.padding, a.dilation};
  };
  return {axis(c.rows), axis(c.columns), c.groups, c.offset_groups};
}

// The elements of a bin of a region along one axis.
struct BinRange {
  int64_t begin, end;

  __device__ BinRange(float low, float high, float scale, int64_t bin, int64_t bins,
                      int64_t extent) {
    const float start = roundf(low * scale), size_of_all = roundf(high * scale) - start + 1;
    const float size = fmaxf(size_of_all, 1.f) / static_cast<float>(bins);
    begin = clipped(floorf(static_cast<float>(bin) * size) + start, extent);
    end = clipped(ceilf(static_cast<float>(bin + 1) * size) + start, extent);
  }

 private:
  __device__ static int64_t clipped(float at, int64_t extent) {
    return static_cast<int64_t>(fminf(fmaxf(at, 0.f), static_cast<float>(extent)));
  }
};

template <class E> __global__ void take_maxima(RegionMaxima call) {
  const auto count = static_cast<uint64_t>(call.count * call.channels * call.height * call.width);
  for_own(count, [&](uint64_t i) {
    const auto n = static_cast<int64_t>(i);
    const int64_t column = n % call.width, row = n / call.width % call.height;
    const int64_t channel = n / (call.width * call.height) % call.channels;
    const int64_t region = n / (call.width * call.height * call.channels);
    float roi[5];
    for (int k = 0; k < 5; ++k) roi[k] = to_float(static_cast<const E*>(call.rois)[region * 5 + k]);
    E* const to = static_cast<E*>(call.y) + n;
    *to = from_float<E>(0);
    if (!(roi[0] >= 0 && roi[0] < static_cast<float>(call.images))) return;
    const BinRange rows(roi[2], roi[4], call.scale, row, call.height, call.map_height);
    const BinRange columns(roi[1], roi[3], call.scale, column, call.width, call.map_width);
    if (rows.end <= rows.begin || columns.end <= columns.begin) return;
    const E* plane = static_cast<const E*>(call.x)
                     + (static_cast<int64_t>(roi[0]) * call.channels + channel) * call.map_height
                           * call.map_width;
    float max_value = -INFINITY;
    for (int64_t y = rows.begin; y < rows.end; ++y)
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const float value = to_float(plane[y * call.map_width + x]);
        max_value = value > max_value || value != value ? value : max_value;
      }
    *to = from_float<E>(max_value);
  });
}

}  // namespace

size_t scratch_bytes(const RegionAlignment& c) {
  return kernels::roi_align_workspace(c.map_images * c.map_height * c.map_width, c.channels);
}

size_t scratch_bytes(const DeformedConvolution& c) {
  return kernels::deformable_convolution_workspace(rule_of(c), c.images, c.channels,
                                                   c.in_height * c.in_width, c.output_channels);
}

void launch_grid_sample(const GridSampling& c, cudaStream_t stream) {
  const kernels::GridRule rule{static_cast<kernels::GridInterpolation>(c.interpolation),
                               static_cast<kernels::GridPadding>(c.padding), c.align_corners};
  with_real(c.type, [&](auto zero) {
    using E = decltype(zero);
    kernels::grid_sample<E>(
        device_of(stream), rule, c.axes,
        {static_cast<const E*>(c.x), static_cast<const E*>(c.grid), static_cast<E*>(c.y), c.images,
         c.channels, c.depth, c.height, c.width, c.pixels});
  });
}

void launch_roi_align(const RegionAlignment& c, cudaStream_t stream) {
  const kernels::RoiAlignRule rule{c.height, c.width, c.sampling_ratio,
                                   static_cast<kernels::RoiPooling>(c.pooling)};
  with_real(c.type, [&](auto zero) {
    using E = decltype(zero);
    const kernels::FeatureMap<E> map{static_cast<const E*>(c.x), c.map_images, c.map_height,
                                     c.map_width};
    const auto align = [&](auto* images) {
      using I = std::remove_cvref_t<decltype(*images)>;
      const kernels::RoisOfImages<E, I> regions{static_cast<const E*>(c.rois), images, c.scale,
                                                c.half_pixel};
      kernels::roi_align<E>(device_of(stream, c.scratch), rule, {&map, 1}, c.channels, regions,
                            c.count, static_cast<E*>(c.y));
    };
    if (c.is_wide)
      align(static_cast<const int64_t*>(c.images));
    else
      align(static_cast<const int32_t*>(c.images));
  });
}

void launch_max_roi_pool(const RegionMaxima& c, cudaStream_t stream) {
  with_real(c.type, [&](auto zero) {
    launch(take_maxima<decltype(zero)>, blocks_for(c.count * c.channels * c.height * c.width),
           kThreads, stream, c);
  });
}

void launch_deformable_convolution(const DeformedConvolution& c, cudaStream_t stream) {
  with_real(c.type, [&](auto zero) {
    using E = decltype(zero);
    kernels::deformable_convolution<E>(
        device_of(stream, c.scratch), rule_of(c),
        {static_cast<const E*>(c.x), static_cast<const E*>(c.offsets),
         static_cast<const E*>(c.mask), static_cast<const E*>(c.kernel),
         static_cast<const E*>(c.bias), static_cast<E*>(c.y), c.images, c.channels, c.in_height,
         c.in_width, c.output_channels, c.height, c.width});
  });
}

}  // namespace tenon::cuda
