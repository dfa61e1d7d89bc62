// Panels of channels of depthwise sums of bytes with AVX-512 VNNI: four taps of a channel are one
// product of the processor's. The bytes of four taps are interleaved for it, which leaves each lane
// of 128 bits with the channels that it had, four in each of four vectors; packing the results
// undoes that.
#pragma once

#include <algorithm>
#include <cstring>

#include "cpu/simd/avx512_byte_epilogue.h"

namespace tenon::cpu {
namespace {

constexpr int kTapGroup = 4, kQuarters = 4, kLaneNumbers = 4;

// Panels of 64 channels.
struct WholeDepthwise {
  using Bytes = __m512i;
  using Floats = __m512;
  static constexpr int kLanes = 4;
  static constexpr int64_t kChannels = 16 * kLanes;

  static Bytes load(const void* from) { return _mm512_loadu_si512(from); }
  static Bytes weights(const void* from) { return load(from); }
  static Bytes some(uint64_t mask, const uint8_t* from) {
    return _mm512_maskz_loadu_epi8(mask, from);
  }
  static void put(uint8_t* to, Bytes x) { _mm512_storeu_si512(to, x); }
  static void put_some(uint64_t mask, uint8_t* to, Bytes x) {
    _mm512_mask_storeu_epi8(to, mask, x);
  }
  static Bytes bytes_of(int x) { return _mm512_set1_epi8(static_cast<char>(x)); }
  static Bytes shorts_of(int x) { return _mm512_set1_epi16(static_cast<int16_t>(x)); }
  static Floats floats_of(float x) { return _mm512_set1_ps(x); }
  static Bytes low8(Bytes a, Bytes b) { return _mm512_unpacklo_epi8(a, b); }
  static Bytes high8(Bytes a, Bytes b) { return _mm512_unpackhi_epi8(a, b); }
  static Bytes low16(Bytes a, Bytes b) { return _mm512_unpacklo_epi16(a, b); }
  static Bytes high16(Bytes a, Bytes b) { return _mm512_unpackhi_epi16(a, b); }
  static Bytes dot(Bytes sum, Bytes data, Bytes weights) {
    return _mm512_dpbusd_epi32(sum, data, weights);
  }
  static Floats to_floats(Bytes x) { return _mm512_cvtepi32_ps(x); }
  static Bytes to_integers(Floats x) { return _mm512_cvtps_epi32(x); }
  static Floats min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
  static Bytes pack32(Bytes a, Bytes b) { return _mm512_packs_epi32(a, b); }
  static Bytes pack16(Bytes a, Bytes b) { return _mm512_packs_epi16(a, b); }
  static Bytes add16(Bytes a, Bytes b) { return _mm512_adds_epi16(a, b); }
  static Bytes clamp8(Bytes x, Bytes low, Bytes high) {
    return _mm512_min_epi8(high, _mm512_max_epi8(low, x));
  }
  // Four numbers in each lane, so many numbers from one lane's to the next's.
  static Bytes lanes(const int32_t* from, int64_t step) {
    const auto lane = [&](int i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * step));
    };
    Bytes x = _mm512_castsi128_si512(lane(0));
    x = _mm512_inserti32x4(x, lane(1), 1);
    x = _mm512_inserti32x4(x, lane(2), 2);
    return _mm512_inserti32x4(x, lane(3), 3);
  }
  static Floats as_floats(Bytes x) { return _mm512_castsi512_ps(x); }
};

// Panels of 32.
struct HalfDepthwise {
  using Bytes = __m256i;
  using Floats = __m256;
  static constexpr int kLanes = 2;
  static constexpr int64_t kChannels = 16 * kLanes;

  static Bytes load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static Bytes weights(const void* from) { return load(from); }
  static Bytes some(uint64_t mask, const uint8_t* from) {
    return _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), from);
  }
  static void put(uint8_t* to, Bytes x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x); }
  static void put_some(uint64_t mask, uint8_t* to, Bytes x) {
    _mm256_mask_storeu_epi8(to, static_cast<__mmask32>(mask), x);
  }
  static Bytes bytes_of(int x) { return _mm256_set1_epi8(static_cast<char>(x)); }
  static Bytes shorts_of(int x) { return _mm256_set1_epi16(static_cast<int16_t>(x)); }
  static Floats floats_of(float x) { return _mm256_set1_ps(x); }
  static Bytes low8(Bytes a, Bytes b) { return _mm256_unpacklo_epi8(a, b); }
  static Bytes high8(Bytes a, Bytes b) { return _mm256_unpackhi_epi8(a, b); }
  static Bytes low16(Bytes a, Bytes b) { return _mm256_unpacklo_epi16(a, b); }
  static Bytes high16(Bytes a, Bytes b) { return _mm256_unpackhi_epi16(a, b); }
  static Bytes dot(Bytes sum, Bytes data, Bytes weights) {
    return _mm256_dpbusd_epi32(sum, data, weights);
  }
  static Floats to_floats(Bytes x) { return _mm256_cvtepi32_ps(x); }
  static Bytes to_integers(Floats x) { return _mm256_cvtps_epi32(x); }
  static Floats min(Floats a, Floats b) { return _mm256_min_ps(a, b); }
  static Bytes pack32(Bytes a, Bytes b) { return _mm256_packs_epi32(a, b); }
  static Bytes pack16(Bytes a, Bytes b) { return _mm256_packs_epi16(a, b); }
  static Bytes add16(Bytes a, Bytes b) { return _mm256_adds_epi16(a, b); }
  static Bytes clamp8(Bytes x, Bytes low, Bytes high) {
    return _mm256_min_epi8(high, _mm256_max_epi8(low, x));
  }
  static Bytes lanes(const int32_t* from, int64_t step) {
    const auto lane = [&](int i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * step));
    };
    return _mm256_inserti128_si256(_mm256_castsi128_si256(lane(0)), lane(1), 1);
  }
  static Floats as_floats(Bytes x) { return _mm256_castsi256_ps(x); }
};

// The weights of a group, in a panel of any width.
constexpr int64_t kGroupBytes = WholeDepthwise::kChannels * kTapGroup;

// Each vector has a quarter of the channels.
template <class W> using Quarters = typename W::Bytes[kQuarters];

// Numbers of each channel as the sums lie; of a panel that is not full, those that are there.
template <class W> void arrange(const void* from, int64_t channels, Quarters<W>& to) {
  int32_t padded[W::kChannels];
  const auto* numbers = static_cast<const int32_t*>(from);
  if (channels < W::kChannels) {
    std::memset(padded, 0, sizeof padded);
    std::memcpy(padded, from, static_cast<size_t>(channels) * sizeof(int32_t));
    numbers = padded;
  }
  for (int q = 0; q < kQuarters; ++q)
    to[q] = W::lanes(numbers + q * kLaneNumbers, kQuarters * kLaneNumbers);
}

// The bytes of a group of taps, four of each channel together.
template <class W>
[[gnu::always_inline]] inline void interleave(const typename W::Bytes (&x)[kTapGroup],
                                              Quarters<W>& to) {
  using Bytes = typename W::Bytes;
  const Bytes low[] = {W::low8(x[0], x[1]), W::low8(x[2], x[3])};
  const Bytes high[] = {W::high8(x[0], x[1]), W::high8(x[2], x[3])};
  to[0] = W::low16(low[0], low[1]);
  to[1] = W::high16(low[0], low[1]);
  to[2] = W::low16(high[0], high[1]);
  to[3] = W::high16(high[0], high[1]);
}

// What the pixels of a panel share. Of a panel that is not full, only the bytes of its channels are
// read and written.
template <class W, bool kFull> struct DepthwisePanel {
  using Bytes = typename W::Bytes;

  DepthwisePanel(const ByteTaps& of, const ByteResult& result, int64_t channels)
      : taps(of),
        mask(channels >= 64 ? ~uint64_t{0} : (uint64_t{1} << channels) - 1),
        flip(W::bytes_of(of.flip)) {
    arrange<W>(result.add, channels, add);
  }

  Bytes read(const uint8_t* tap) const {
    const uint8_t* const from = tap + taps.channel;
    return (kFull ? W::load(from) : W::some(mask, from)) ^ flip;
  }
  [[gnu::always_inline]] void group(const uint8_t* const* tap, Quarters<W>& to) const {
    interleave<W>({read(tap[0]), read(tap[1]), read(tap[2]), read(tap[3])}, to);
  }
  Bytes weights(int64_t group, int q) const {
    constexpr int64_t kQuarterBytes = W::kChannels;  // of a quarter of the channels, four each
    return W::weights(taps.weights + group * kGroupBytes + q * kQuarterBytes);
  }
  [[gnu::always_inline]] void add_group(int64_t group, const Quarters<W>& x,
                                        Quarters<W>& sums) const {
#pragma GCC unroll 4
    for (int q = 0; q < kQuarters; ++q) sums[q] = W::dot(sums[q], x[q], weights(group, q));
  }

  const ByteTaps& taps;
  uint64_t mask;
  Bytes flip;
  Quarters<W> add;
};

// What becomes of the sums of a pixel.
template <class W, bool kFull> struct DepthwiseToBytes {
  using Bytes = typename W::Bytes;
  using Floats = typename W::Floats;

  DepthwiseToBytes(const ByteResult& result, int64_t channels, void* to)
      : out(static_cast<uint8_t*>(to)),
        mask((uint64_t{1} << (channels & 63)) - 1),
        highest(W::floats_of(result.rounding.high)) {
    arrange<W>(result.scale, channels, scale);
    arrange<W>(result.shift, channels, shift);
    const ByteRounding& r = result.rounding;
    const int flips = r.is_signed ? 0 : 128, less = r.zero - flips;
    flip = W::bytes_of(flips);
    zero = W::shorts_of(less);
    low = W::bytes_of(static_cast<int>(r.low) + less);
    high = W::bytes_of(static_cast<int>(r.high) + less);
  }

  [[gnu::always_inline]] void store(const Quarters<W>& sums, int64_t at) const {
    const Bytes bytes = rounded(sums);
    if (kFull)
      W::put(out + at, bytes);
    else
      W::put_some(mask, out + at, bytes);
  }

  // As ToBytes and SaturatingPack, in the order of the quarters.
  [[gnu::always_inline]] Bytes rounded(const Quarters<W>& sums) const {
    Bytes x[kQuarters];
#pragma GCC unroll 4
    for (int q = 0; q < kQuarters; ++q) {
      const Floats scaled = W::to_floats(sums[q]) * W::as_floats(scale[q]) + W::as_floats(shift[q]);
      x[q] = W::to_integers(W::min(highest, scaled));
    }
    const Bytes packed =
        W::pack16(W::add16(W::pack32(x[0], x[1]), zero), W::add16(W::pack32(x[2], x[3]), zero));
    return W::clamp8(packed, low, high) ^ flip;
  }

  uint8_t* out;
  uint64_t mask;
  Floats highest;
  Bytes flip, zero, low, high;
  Quarters<W> scale, shift;
};

}  // namespace
}  // namespace tenon::cpu
