// The loops of convolution with few output channels: vectors of channels, whose lanes are summed at
// the end.
#pragma once

#include <cstdint>
#include <utility>

#include "cpu/simd/block_lanes.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

// Results whose sums the registers hold beside the weights; as many pixels as pairs of lanes.
constexpr int kDotPixels = kBlockLanes / 2, kDotChannels = 3;

template <int... I>
BlockLanes pair_sums(std::integer_sequence<int, I...>, const BlockLanes& a, const BlockLanes& b) {
  return __builtin_shufflevector(a, b, 2 * I...) + __builtin_shufflevector(a, b, 2 * I + 1 ...);
}
// The sums of neighbouring lanes, those of a before those of b.
BlockLanes pair_sums(const BlockLanes& a, const BlockLanes& b) {
  return pair_sums(std::make_integer_sequence<int, kBlockLanes>(), a, b);
}

// The sum of all lanes of each vector, one after the other.
BlockLanes lane_sums(BlockLanes (&vectors)[kDotPixels]) {
#pragma GCC unroll 4
  for (int count = kDotPixels; count > 1; count /= 2)
#pragma GCC unroll 4
    for (int i = 0; i < count / 2; ++i) vectors[i] = pair_sums(vectors[2 * i], vectors[2 * i + 1]);
  return pair_sums(vectors[0], vectors[0]);
}

// Up to kDotPixels neighbouring results of R output channels.
template <int R>
void dot_block(const DotForm& form, const float* in, const float* weights, const float* bias,
               int64_t pixels, float* out) {
  BlockLanes sum[R][kDotPixels];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int p = 0; p < kDotPixels; ++p) sum[r][p] = BlockLanes{};
  for (int64_t t = 0; t < form.taps; ++t, weights += R * kBlockLanes) {
    const float* from = in + form.offsets[t];
    BlockLanes w[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) w[r] = load_lanes(weights + r * kBlockLanes);
#pragma GCC unroll 8
    for (int p = 0; p < kDotPixels; ++p) {
      BlockLanes x = load_lanes(from + p * form.step);
      hold(x);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r][p] += x * w[r];
    }
  }
  const BlockLanes lower = BlockLanes{} + form.lower, upper = BlockLanes{} + form.upper;
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    BlockLanes total = lane_sums(sum[r]) + bias[r];
    total = total > upper ? upper : total;
    total = total < lower ? lower : total;
    const auto* from = reinterpret_cast<const float*>(&total);
    float* to = out + r * form.out_step;
    if (pixels >= kDotPixels) {
      __builtin_memcpy(to, from, kDotPixels * sizeof(float));
    } else {
      for (int64_t p = 0; p < pixels; ++p) to[p] = from[p];
    }
  }
}

template <int R>
void dot_row(const DotForm& form, const float* in, const float* weights, const float* bias,
             int64_t pixels, float* out) {
  for (; pixels > 0; pixels -= kDotPixels, in += kDotPixels * form.step, out += kDotPixels)
    dot_block<R>(form, in, weights, bias, pixels, out);
}

void dot(const DotForm& form, const float* in, const float* weights, const float* bias,
         int64_t output_channels, int64_t pixels, float* out) {
  static constexpr decltype(&dot_row<1>) rows[kDotChannels] = {dot_row<1>, dot_row<2>, dot_row<3>};
  for (int64_t output_channel = 0; output_channel < output_channels;
       output_channel += kDotChannels) {
    const int64_t count = output_channels - output_channel < kDotChannels
                              ? output_channels - output_channel
                              : kDotChannels;
    rows[count - 1](form, in, weights + output_channel * form.taps * kBlockLanes,
                    bias + output_channel, pixels, out + output_channel * form.out_step);
  }
}

constexpr DotKernels kDot = {kBlockLanes, kDotChannels, kDotPixels, dot};

}  // namespace
}  // namespace tenon::cpu
