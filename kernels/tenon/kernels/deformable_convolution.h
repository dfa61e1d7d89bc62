/// Convolution whose taps are shifted by offsets in a tensor, and weighted by another. Semantics:
/// torchvision's deform_conv2d, mmcv's DeformConv2d and ModulatedDeformConv2d, ONNX DeformConv-19.
#pragma once

#include <cmath>

#include "tenon/kernels/pixels.h"
#include "tenon/kernels/product.h"

namespace tenon::kernels::inline TENON_TARGET {

/// The taps of a kernel along one axis, before they are shifted.
struct DeformableAxis {
  int64_t taps = 1, stride = 1, padding = 0, dilation = 1;  // padding before the data

  TENON_HD float position(int64_t result, int64_t tap) const {
    return static_cast<float>(result * stride - padding + tap * dilation);
  }
};

struct DeformableConvolutionRule {
  DeformableAxis rows, columns;
  int64_t groups = 1;
  int64_t offset_groups = 1;  // the channels of one share offsets
};

/// Tensors of a call. With taps = kernel height * kernel width:
template <class E> struct DeformableConvolutionCall {
  const E* x;        // (N, C, H, W)
  const E* offsets;  // (N, offset groups, taps, 2, height, width): row, column
  const E* mask;     // (N, offset groups, taps, height, width), or null
  const E* kernel;   // (M, C / groups, kernel height, kernel width)
  const E* bias;     // (M), or null
  E* y;              // (N, M, height, width)
  int64_t images, channels, in_height, in_width;
  int64_t output_channels, height, width;  // of the result
};

/// What a shifted tap reads.
struct Reading {
  Tap taps[4];
  int64_t count;
};

/// What tap `tap` of an offset group reads for result `at` of a plane.
template <class E>
TENON_HD Reading reading_of(const DeformableConvolutionRule& rule,
                            const DeformableConvolutionCall<E>& call, int64_t image,
                            int64_t offset_group, int64_t tap, int64_t at, int64_t step) {
  const int64_t plane = call.height * call.width;
  const int64_t channel_pair =
      (image * rule.offset_groups + offset_group) * rule.rows.taps * rule.columns.taps + tap;
  const E* offsets = call.offsets + channel_pair * 2 * plane + at;
  const float row = rule.rows.position(at / call.width, tap / rule.columns.taps);
  const float column = rule.columns.position(at % call.width, tap % rule.columns.taps);
  Reading r;
  r.count = bilinear_taps(
      row + static_cast<float>(offsets[0]), column + static_cast<float>(offsets[plane]),
      call.in_height, call.in_width, step,
      call.mask == nullptr ? 1.f : static_cast<float>(call.mask[channel_pair * plane + at]),
      r.taps);
  return r;
}

#if !defined(__CUDACC__)

/// Results of one image are computed in blocks: the pixels that taps read become rows of a
/// matrix, which is multiplied with the kernel, some taps and channels at a time.
template <class E, int vector> class DeformableConvolver {
 public:
  static constexpr int64_t kPixels = 64;           // results of a block
  static constexpr int64_t kDepth = 256;           // elements of a row
  static constexpr int64_t kOutputChannels = 256;  // sums of a result
  static constexpr int64_t kPanel = ProductTile<vector>::kColumns;

  DeformableConvolver(const DeformableConvolutionRule& rule,
                      const DeformableConvolutionCall<E>& call, const float* pixels, float* kernel)
      : rule_(rule),
        call_(call),
        pixels_(pixels),
        kernel_(kernel),
        taps_(rule.rows.taps * rule.columns.taps),
        channels_(call.channels / rule.groups),
        output_channels_(call.output_channels / rule.groups),
        panels_((output_channels_ + kPanel - 1) / kPanel),
        together_(std::clamp<int64_t>(std::min(kDepth / std::max<int64_t>(channels_, 1),
                                               kOutputChannels / (panels_ * kPanel)),
                                      1, rule.groups)) {}

  /// Panels of the packed kernel, over all groups.
  int64_t panels() const { return rule_.groups * panels_; }

  /// Packs one panel: for each k its output channels, padded with zeros. k counts blocks of
  /// kDepth channels, in them taps, in them channels.
  void pack(int64_t panel) const {
    const int64_t group = panel / panels_, first = panel % panels_ * kPanel;
    float* to = kernel_ + panel * depth() * kPanel;
    for (int64_t j = 0; j < kPanel; ++j) {
      const bool is_there = first + j < output_channels_;
      const E* from =
          call_.kernel + (group * output_channels_ + (is_there ? first + j : 0)) * depth();
      for (int64_t c = 0; c < channels_; ++c) {
        const int64_t block = c / kDepth * kDepth, length = std::min(kDepth, channels_ - block);
        float* column = to + (block * taps_ + c - block) * kPanel + j;
        for (int64_t t = 0; t < taps_; ++t)
          column[t * length * kPanel] = is_there ? static_cast<float>(from[c * taps_ + t]) : 0;
      }
    }
  }

  /// Results [first, first + kPlaces) of the planes of an image, as far as they are there.
  void run(int64_t image, int64_t first) {
    image_ = image;
    first_ = first;
    count_ = std::min(kPixels, call_.height * call_.width - first);
    rows_ = (count_ + 7) / 8 * 8;
    for (int64_t group = 0; group < rule_.groups; group += together_)
      for (int64_t output_channel = 0; output_channel < output_channels_;
           output_channel += kOutputChannels)
        run_groups(group, std::min(together_, rule_.groups - group), output_channel,
                   std::min(kOutputChannels, output_channels_ - output_channel));
  }

 private:
  int64_t depth() const { return channels_ * taps_; }
  // Of the sums of a result, those of each group begin on a panel.
  int64_t group_step() const { return together_ == 1 ? kOutputChannels : panels_ * kPanel; }

  [[gnu::always_inline]] void run_groups(int64_t group, int64_t groups, int64_t output_channel,
                                         int64_t output_channels) {
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t p = 0; p < rows_; ++p)
        for (int64_t j = 0; j < (output_channels + kPanel - 1) / kPanel * kPanel; ++j)
          sums_[p * kOutputChannels + g * group_step() + j] =
              call_.bias != nullptr && j < output_channels
                  ? static_cast<float>(
                        call_.bias[(group + g) * output_channels_ + output_channel + j])
                  : 0;
    for (int64_t channel = 0; channel < channels_; channel += kDepth) {
      const int64_t channels = std::min(kDepth, channels_ - channel);
      const int64_t at_once = std::max<int64_t>(1, kDepth / (groups * channels));
      for (int64_t tap = 0; tap < taps_; tap += at_once) {
        const int64_t taps = std::min(at_once, taps_ - tap);
        for (int64_t t = 0; t < taps; ++t)
          read(group, groups, channel, channels, tap + t, columns_ + t * channels, taps * channels);
        for (int64_t g = 0; g < groups; ++g)
          add_product<vector>(
              columns_ + g * taps * channels, kDepth, rows_,
              kernel_ + ((group + g) * panels_ + output_channel / kPanel) * depth() * kPanel
                  + (channel * taps_ + tap * channels) * kPanel,
              depth() * kPanel, taps * channels, sums_ + g * group_step(), kOutputChannels,
              output_channels);
      }
    }
    const int64_t plane = call_.height * call_.width;
    for (int64_t g = 0; g < groups; ++g)
      pixels_to_planes(
          sums_ + g * group_step(), kOutputChannels, count_, output_channels,
          call_.y
              + (image_ * call_.output_channels + (group + g) * output_channels_ + output_channel)
                    * plane
              + first_,
          plane);
  }

  // What a tap reads of some channels of each group; groups lie `step` apart in a row.
  [[gnu::always_inline]] void read(int64_t group, int64_t groups, int64_t channel, int64_t channels,
                                   int64_t tap, float* to, int64_t step) {
    const float* image = pixels_ + image_ * call_.in_height * call_.in_width * call_.channels;
    const int64_t share = call_.channels / rule_.offset_groups;
    int64_t offset_group = -1;
    for (int64_t g = 0; g < groups; ++g) {
      int64_t c = (group + g) * channels_ + channel;
      float* target = to + g * step;
      for (const int64_t end = c + channels; c < end;) {
        if (c / share != offset_group) find_readings(offset_group = c / share, tap);
        const int64_t length = std::min(end, (offset_group + 1) * share) - c;
        for (int64_t p = 0; p < rows_; ++p)
          sum_pixels<vector>(image + c, readings_[p].taps, readings_[p].count, length,
                             target + p * kDepth);
        target += length;
        c += length;
      }
    }
  }

  void find_readings(int64_t offset_group, int64_t tap) {
    for (int64_t p = 0; p < count_; ++p)
      readings_[p] =
          reading_of(rule_, call_, image_, offset_group, tap, first_ + p, call_.channels);
    for (int64_t p = count_; p < rows_; ++p) readings_[p].count = 0;
  }

  const DeformableConvolutionRule& rule_;
  const DeformableConvolutionCall<E>& call_;
  const float* pixels_;
  float* kernel_;
  int64_t taps_, channels_, output_channels_;  // channels and output channels of a group
  int64_t panels_;                             // of a group
  int64_t together_;                           // groups whose columns and sums fit a block
  int64_t image_ = 0, first_ = 0, count_ = 0, rows_ = 0;
  Reading readings_[kPixels];
  alignas(64) float columns_[kPixels * kDepth];
  alignas(64) float sums_[kPixels * kOutputChannels];
};

/// Bytes of workspace. `pixels` are those of an image; strides, paddings and dilations do not
/// count.
inline size_t deformable_convolution_workspace(const DeformableConvolutionRule& rule,
                                               int64_t images, int64_t channels, int64_t pixels,
                                               int64_t output_channels) {
  const int64_t depth = channels / rule.groups * rule.rows.taps * rule.columns.taps;
  const int64_t packed = packed_elements(depth, output_channels / rule.groups);
  return static_cast<size_t>(images * channels * pixels + rule.groups * packed) * sizeof(float);
}

template <class E>
void deformable_convolution(const kit::Device& device, const DeformableConvolutionRule& rule,
                            const DeformableConvolutionCall<E>& call) {
  const int64_t plane = call.height * call.width;
  if (call.images * call.output_channels * plane == 0) return;
  auto* pixels = static_cast<float*>(device.workspace);
  float* kernel = pixels + call.images * call.channels * call.in_height * call.in_width;
  planes_to_pixels(device, call.x, call.images, call.channels, call.in_height * call.in_width,
                   pixels);
  with_wide_vectors([&](auto vector) {
    constexpr int kVector = decltype(vector)::value;
    const DeformableConvolver<E, kVector> packer(rule, call, pixels, kernel);
    device.parallel_ranges(packer.panels(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) packer.pack(i);
    });
  });
  constexpr int64_t kPixels = DeformableConvolver<E, 4>::kPixels;
  const int64_t blocks = (plane + kPixels - 1) / kPixels;
  device.parallel_ranges(call.images * blocks, 1, [&](int64_t begin, int64_t end) {
    with_wide_vectors([&](auto vector) {
      DeformableConvolver<E, decltype(vector)::value> convolver(rule, call, pixels, kernel);
      for (int64_t i = begin; i < end; ++i) convolver.run(i / blocks, i % blocks * kPixels);
    });
  });
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET

#include "tenon/kernels/deformable_convolution_cuda.h"
