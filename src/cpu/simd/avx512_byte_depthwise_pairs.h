// Depthwise sums of bytes with AVX-512 VNNI, of two pixels at once: panels of 32 channels are half
// a vector.
#pragma once

#include "cpu/simd/avx512_byte_depthwise_panel.h"

namespace tenon::cpu {
namespace {

// Two pixels of a panel of 32 channels, one above the other.
struct PairDepthwise : WholeDepthwise {
  static constexpr int kLanes = HalfDepthwise::kLanes;
  static constexpr int64_t kChannels = HalfDepthwise::kChannels;

  static Bytes weights(const void* from) {
    return _mm512_broadcast_i64x4(HalfDepthwise::load(from));
  }
  static Bytes lanes(const int32_t* from, int64_t step) {
    return _mm512_broadcast_i64x4(HalfDepthwise::lanes(from, step));
  }
  static Bytes pair(const uint8_t* first, const uint8_t* second) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(HalfDepthwise::load(first)),
                              HalfDepthwise::load(second), 1);
  }
  // The upper pixel of one and the lower one of the other.
  static Bytes between(Bytes a, Bytes b) { return _mm512_shuffle_i64x2(a, b, 0x4e); }
};

// Panels of pairs of pixels, two or more; of an odd number the last is its own neighbour.
class DepthwisePairs {
  using W = PairDepthwise;

 public:
  DepthwisePairs(const ByteTaps& taps, const ByteResult& result, void* out)
      : panel_(taps, result, W::kChannels), results_(result, W::kChannels, out) {}

  // Windows of three groups, of which neighbours share two: one is read for a pair.
  void columns(int64_t pixel_step) const {
    constexpr int kGroups = 3;
    const uint8_t* const* tap = panel_.taps.data;
    Quarters<W> x[kGroups];
    group(tap, kTapGroup, x[0]);
    for (int64_t pixel = 0; pixel < panel_.taps.pixels; pixel += 2, tap += 2 * kTapGroup) {
      group(tap + 2 * kTapGroup, neighbour(pixel), x[2]);
      Quarters<W> sums = {panel_.add[0], panel_.add[1], panel_.add[2], panel_.add[3]};
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) x[1][q] = W::between(x[0][q], x[2][q]);
#pragma GCC unroll 4
      for (int i = 0; i < kGroups; ++i) panel_.add_group(i, x[i], sums);
      store(sums, pixel, pixel_step);
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) x[0][q] = x[2][q];
    }
  }

  // Any other windows.
  void pixels(int64_t pixel_step) const {
    const uint8_t* const* tap = panel_.taps.data;
    const int64_t step = panel_.taps.step * kTapGroup;
    for (int64_t pixel = 0; pixel < panel_.taps.pixels; pixel += 2, tap += 2 * step) {
      Quarters<W> sums = {panel_.add[0], panel_.add[1], panel_.add[2], panel_.add[3]}, x;
      for (int64_t i = 0; i < panel_.taps.groups; ++i) {
        group(tap + i * kTapGroup, neighbour(pixel), x);
        panel_.add_group(i, x, sums);
      }
      store(sums, pixel, pixel_step);
    }
  }

 private:
  // From a tap to that of the next pixel.
  int64_t neighbour(int64_t pixel) const {
    return pixel + 1 < panel_.taps.pixels ? panel_.taps.step * kTapGroup : 0;
  }

  [[gnu::always_inline]] void group(const uint8_t* const* tap, int64_t neighbour,
                                    Quarters<W>& to) const {
    const auto read = [&](int i) {
      const int64_t channel = panel_.taps.channel;
      return W::pair(tap[i] + channel, tap[i + neighbour] + channel) ^ panel_.flip;
    };
    interleave<W>({read(0), read(1), read(2), read(3)}, to);
  }

  [[gnu::always_inline]] void store(const Quarters<W>& sums, int64_t pixel,
                                    int64_t pixel_step) const {
    const __m512i bytes = results_.rounded(sums);
    uint8_t* const to = results_.out + pixel * pixel_step;
    HalfDepthwise::put(to, _mm512_castsi512_si256(bytes));
    if (pixel + 1 < panel_.taps.pixels)
      HalfDepthwise::put(to + pixel_step, _mm512_extracti64x4_epi64(bytes, 1));
  }

  DepthwisePanel<W, true> panel_;
  DepthwiseToBytes<W, true> results_;
};

void sum_pairs(const ByteTaps& taps, const ByteResult& result, void* out, int64_t pixel_step) {
  const DepthwisePairs pairs(taps, result, out);
  if (taps.groups == 3 && taps.step == 1)
    pairs.columns(pixel_step);
  else
    pairs.pixels(pixel_step);
}

}  // namespace
}  // namespace tenon::cpu
