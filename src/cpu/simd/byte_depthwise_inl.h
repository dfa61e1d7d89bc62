// Depthwise sums of bytes: each channel's window times its own weights, 16-bit integers, a tap at a
// time. Each instruction set includes it behind its epilogues, whose names it uses.
#pragma once

#include <cstring>

#include "cpu/simd/byte_product.h"

namespace tenon::cpu {
namespace {

typedef int32_t DepthwiseSums __attribute__((vector_size(kLanes * 4)));
typedef int16_t DepthwiseWeights __attribute__((vector_size(kLanes * 2), aligned(2), may_alias));
typedef uint8_t DepthwiseData __attribute__((vector_size(kLanes), aligned(1), may_alias));

// The first `count` bytes, fewer than a vector, without a detour over memory.
[[gnu::always_inline]] inline DepthwiseData first_bytes(const uint8_t* data, int64_t count) {
  uint64_t halves[2] = {};
  if (count >= 8) {
    std::memcpy(&halves[0], data, 8);
    std::memcpy(&halves[1], data + count - 8, 8);
    halves[1] = count == 8 ? 0 : halves[1] >> (8 * (16 - count));
  } else if (count >= 4) {
    uint32_t begin = 0, end = 0;  // which overlap
    std::memcpy(&begin, data, 4);
    std::memcpy(&end, data + count - 4, 4);
    halves[0] = begin | uint64_t{end} << (8 * (count - 4));
  } else {
    for (int64_t i = 0; i < count; ++i) halves[0] |= uint64_t{data[i]} << (8 * i);
  }
  DepthwiseData bytes;
  std::memcpy(&bytes, halves, sizeof bytes);
  return bytes;
}

// The sums of one pixel. Of a panel that is not full, only the bytes of its channels are read.
template <bool kFull>
[[gnu::always_inline]] inline void depthwise_pixel(const ByteTaps& taps, const uint8_t* const* tap,
                                                   int64_t channels, const Vector* add, Sums& to) {
  DepthwiseSums sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = reinterpret_cast<DepthwiseSums>(add[v]);
  const auto* weights = reinterpret_cast<const int16_t*>(taps.weights);
  for (int64_t t = 0; t < taps.groups; ++t, weights += kPanelChannels) {
    const uint8_t* data = tap[t] + taps.channel;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = channels - v * kLanes;
      if (!kFull && left <= 0) break;
      const DepthwiseData loaded = kFull || left >= kLanes
                                       ? *reinterpret_cast<const DepthwiseData*>(data + v * kLanes)
                                       : first_bytes(data + v * kLanes, left);
      const auto bytes = loaded ^ taps.flip;
      const auto weight = *reinterpret_cast<const DepthwiseWeights*>(weights + v * kLanes);
      sums[v] += __builtin_convertvector(bytes, DepthwiseSums)
                 * __builtin_convertvector(weight, DepthwiseSums);
    }
  }
  for (int v = 0; v < kVectors; ++v) to[v] = reinterpret_cast<Vector>(sums[v]);
}

template <bool kFull, class Epilogue>
void depthwise_row(const ByteTaps& taps, const Epilogue& epilogue, int64_t channels,
                   int64_t pixel_step) {
  const uint8_t* const* tap = taps.data;
  for (int64_t pixel = 0; pixel < taps.pixels; ++pixel, tap += taps.step) {
    Sums sums[1];
    depthwise_pixel<kFull>(taps, tap, channels, epilogue.add, sums[0]);
    const int64_t at = pixel * pixel_step;
    store<1>(epilogue, sums, &at);
  }
}

void sum_depthwise(const ByteTaps& taps, const ByteResult& result, int64_t channels, void* out,
                   int64_t pixel_step) {
  with_epilogue(result, channels, out, [&](const auto& epilogue) {
    if (channels >= kPanelChannels)
      depthwise_row<true>(taps, epilogue, channels, pixel_step);
    else
      depthwise_row<false>(taps, epilogue, channels, pixel_step);
  });
}

constexpr ByteDepthwise kDepthwise = {.panel_channels = kPanelChannels,
                                      .taps = 1,
                                      .element_bytes = sizeof(int16_t),
                                      .place = [](int64_t channel, int64_t) { return channel; },
                                      .sum = sum_depthwise};

}  // namespace
}  // namespace tenon::cpu
