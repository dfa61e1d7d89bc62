// What becomes of 32-bit sums with AVX-512, shared by the loops that make them.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 says so of its own intrinsics when they are inlined.
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "cpu/simd/byte_product.h"

namespace tenon::cpu::avx512::bytes {

constexpr int kLanes = 16;
constexpr int kVectors = 2;
constexpr int64_t kPanelChannels = kVectors * kLanes;
using Vector = __m512i;
// A pixel's numbers of a panel.
using Sums = Vector[kVectors];
using Numbers = __m512[kVectors];

// What the results of a panel share.
struct Panel {
  Panel(const ByteResult& r, int64_t output_channels)
      : mask(output_channels >= kPanelChannels ? kAll : (1u << output_channels) - 1) {
    for (int v = 0; v < kVectors; ++v) {
      add[v] = _mm512_maskz_loadu_epi32(mask_of(v), r.add + v * kLanes);
      scale[v] = _mm512_maskz_loadu_ps(mask_of(v), r.scale + v * kLanes);
      shift[v] = _mm512_maskz_loadu_ps(mask_of(v), r.shift + v * kLanes);
    }
  }

  __m512 scaled(__m512i sum, int v) const {
    return _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale[v]), shift[v]);
  }

  /// Whether no sum, scaled, leaves the integers of 32 bits.
  bool is_small() const {
    __mmask16 small = 0xffff;
    for (int v = 0; v < kVectors; ++v) {
      small &= _mm512_cmp_ps_mask(_mm512_abs_ps(scale[v]), _mm512_set1_ps(0.5f), _CMP_LT_OQ);
      small &= _mm512_cmp_ps_mask(_mm512_abs_ps(shift[v]), _mm512_set1_ps(1 << 29), _CMP_LT_OQ);
    }
    return small == 0xffff;
  }

  /// Masked stores take several times as long.
  template <int N, class T>
  [[gnu::always_inline]] void put_numbers(const Sums* numbers, const int64_t* at, T* out) const {
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v)
        if (T* const to = out + at[i] + v * kLanes; mask == kAll)
          _mm512_storeu_si512(to, numbers[i][v]);
        else
          _mm512_mask_storeu_epi32(to, mask_of(v), numbers[i][v]);
  }

  /// Prefetches what an epilogue will read for the result there; for most it is nothing.
  void prefetch(int64_t at) const {}

  __mmask16 mask_of(int v) const { return static_cast<__mmask16>(mask >> (v * kLanes)); }

  static constexpr __mmask32 kAll = ~__mmask32{0};
  __mmask32 mask;
  __m512i add[kVectors];
  __m512 scale[kVectors], shift[kVectors];
};

// An epilogue stores what becomes of sums, `add` with them: it does put(numbers, at) of what
// converted() makes of each vector, for one or two pixels whose results lie from element at[i] on.
// Loops with many sums convert all of them first, with the constants in registers.
struct ToIntegers : Panel {
  ToIntegers(const ByteResult& r, int64_t output_channels, void* result)
      : Panel(r, output_channels), out(static_cast<int32_t*>(result)) {}

  Vector converted(Vector sum, int) const { return sum; }
  template <int N> [[gnu::always_inline]] void put(const Sums* sums, const int64_t* at) const {
    put_numbers<N>(sums, at, out);
  }
  int32_t* out;
};

struct ToFloats : Panel {
  ToFloats(const ByteResult& r, int64_t output_channels, void* result)
      : Panel(r, output_channels), out(static_cast<float*>(result)) {}

  Vector converted(Vector sum, int v) const { return _mm512_castps_si512(scaled(sum, v)); }
  template <int N> [[gnu::always_inline]] void put(const Sums* numbers, const int64_t* at) const {
    put_numbers<N>(numbers, at, out);
  }
  float* out;
};

// Numbers to bytes, which count as signed until the end. What is less than the least, NaN with it,
// becomes that once they are packed.
struct SaturatingPack {
  explicit SaturatingPack(const ByteRounding& r) {
    const int flips = r.is_signed ? 0 : 128, less = r.zero - flips;
    flip = _mm512_set1_epi8(static_cast<char>(flips));
    zero = _mm512_set1_epi16(static_cast<int16_t>(less));
    minimum = _mm512_set1_epi8(static_cast<char>(static_cast<int>(r.low) + less));
    maximum = _mm512_set1_epi8(static_cast<char>(static_cast<int>(r.high) + less));
  }

  // Of one pixel or, above it, another one.
  template <int N> [[gnu::always_inline]] __m512i operator()(const Numbers* x) const {
    Sums rounded[N];
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v) rounded[i][v] = _mm512_cvtps_epi32(x[i][v]);
    return packed<N>(rounded);
  }
  template <int N> [[gnu::always_inline]] __m512i packed(const Sums* rounded) const {
    __m512i shorts[2];
    for (int i = 0; i < N; ++i)
      shorts[i] = _mm512_adds_epi16(_mm512_packs_epi32(rounded[i][0], rounded[i][1]), zero);
    // Four of a vector lie there, then four of the next, in each lane.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes = _mm512_packs_epi16(shorts[0], shorts[N - 1]);
    const __m512i mixed = _mm512_min_epi8(maximum, _mm512_max_epi8(minimum, bytes));
    return _mm512_xor_si512(_mm512_permutexvar_epi32(order, mixed), flip);
  }
  __m512i zero, flip, minimum, maximum;
};

// Channels of two pixels fill a vector of bytes, and so do twice as many that lie together.
class Rounding {
 public:
  Rounding(float scale, const ByteRounding& r)
      : divisor_(_mm512_set1_ps(scale)), high_(_mm512_set1_ps(r.high)), pack_(r) {}

  __m512i two(const float* first, const float* second) const {
    const Numbers x[] = {{divided(first), divided(first + kLanes)},
                         {divided(second), divided(second + kLanes)}};
    return pack_.template operator()<2>(x);
  }
  __m256i one(const float* from) const {
    const Numbers x[] = {{divided(from), divided(from + kLanes)}};
    return _mm512_castsi512_si256(pack_.template operator()<1>(x));
  }
  // Fewer than fill one.
  void some(const float* from, int64_t n, uint8_t* to) const {
    const __mmask32 mask = (1u << n) - 1;
    const auto upper = static_cast<__mmask16>(mask >> kLanes);
    const Numbers x[] = {
        {scaled(_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from)),
         upper == 0 ? _mm512_setzero_ps() : scaled(_mm512_maskz_loadu_ps(upper, from + kLanes))}};
    _mm256_mask_storeu_epi8(to, mask, _mm512_castsi512_si256(pack_.template operator()<1>(x)));
  }

 private:
  __m512 scaled(__m512 x) const { return _mm512_min_ps(high_, _mm512_div_ps(x, divisor_)); }
  __m512 divided(const float* from) const { return scaled(_mm512_loadu_ps(from)); }

  __m512 divisor_, high_;
  SaturatingPack pack_;
};

class Dequantizing {
 public:
  explicit Dequantizing(const ByteScale& s)
      : flip_(_mm_set1_epi8(static_cast<char>(s.flip))),
        zero_(_mm512_set1_ps(s.zero)),
        scale_(_mm512_set1_ps(s.scale)) {}

  void whole(const uint8_t* from, float* to) const {
    _mm512_storeu_ps(to, numbers(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
  void some(const uint8_t* from, int64_t n, float* to) const {
    const auto mask = static_cast<__mmask16>((1u << n) - 1);
    _mm512_mask_storeu_ps(to, mask, numbers(_mm_maskz_loadu_epi8(mask, from)));
  }

 private:
  __m512 numbers(__m128i bytes) const {
    const __m512i wide = _mm512_cvtepu8_epi32(_mm_xor_si128(bytes, flip_));
    return _mm512_mul_ps(_mm512_sub_ps(_mm512_cvtepi32_ps(wide), zero_), scale_);
  }

  __m128i flip_;
  __m512 zero_, scale_;
};

inline void store(uint8_t* to, __m256i bytes) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
}
inline __m256i lower(__m512i bytes) {
  return _mm512_castsi512_si256(bytes);
}
inline __m256i upper(__m512i bytes) {
  return _mm512_extracti64x4_epi64(bytes, 1);
}

struct ToBytes : Panel {
  ToBytes(const ByteResult& r, int64_t output_channels, void* result)
      : Panel(r, output_channels),
        out(static_cast<uint8_t*>(result)),
        high(_mm512_set1_ps(r.rounding.high)),
        pack(r.rounding) {}

  Vector converted(Vector sum, int v) const {
    return _mm512_cvtps_epi32(_mm512_min_ps(high, scaled(sum, v)));
  }
  template <int N> [[gnu::always_inline]] void put(const Sums* rounded, const int64_t* at) const {
    put_bytes<N>(pack.template packed<N>(rounded), at);
  }

  template <int N> [[gnu::always_inline]] void put_bytes(__m512i bytes, const int64_t* at) const {
    put_pixel(_mm512_castsi512_si256(bytes), out + at[0]);
    if constexpr (N > 1) put_pixel(_mm512_extracti64x4_epi64(bytes, 1), out + at[1]);
  }

  // Where output channels fill cache lines, each is that of two panels, and the first prefetches
  // it; elsewhere not all are prefetched.
  void prefetch(int64_t at) const {
    if (reinterpret_cast<uintptr_t>(out + at) % 64 < 32) __builtin_prefetch(out + at, 1);
  }

  // Masked stores take several times as long.
  void put_pixel(__m256i bytes, uint8_t* to) const {
    constexpr __mmask32 k16 = 0xffff, k24 = 0xffffff;
    if (mask == Panel::kAll) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
    if (mask != k16 && mask != k24) return _mm256_mask_storeu_epi8(to, mask, bytes);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(bytes));
    if (mask == k24)
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to + sizeof(__m128i)),
                       _mm256_extracti128_si256(bytes, 1));
  }

  uint8_t* out;
  __m512 high;
  SaturatingPack pack;
};

// The same where no bound is needed for a number to become an integer, which saturates then.
struct SmallToBytes : ToBytes {
  using ToBytes::ToBytes;
  Vector converted(Vector sum, int v) const { return _mm512_cvtps_epi32(scaled(sum, v)); }
};

// A product's byte and an addend's, both as numbers, the latter with its zero point.
struct ExactSum {
  explicit ExactSum(const ByteSum& sum) : s(sum) {}
  __m512 operator()(__m512 product, __m512 addend) const {
    const __m512 centred = _mm512_sub_ps(addend, _mm512_set1_ps(static_cast<float>(s.addend_zero)));
    const __m512 x = _mm512_add_ps(_mm512_mul_ps(product, _mm512_set1_ps(s.product_scale)),
                                   _mm512_mul_ps(centred, _mm512_set1_ps(s.addend_scale)));
    return _mm512_min_ps(_mm512_set1_ps(s.rounding.high),
                         _mm512_div_ps(x, _mm512_set1_ps(s.scale)));
  }
  const ByteSum& s;
};
struct FastSum {
  explicit FastSum(const ByteSum& sum) : s(sum) {}
  __m512 operator()(__m512 product, __m512 addend) const {
    return _mm512_fmadd_ps(
        product, _mm512_set1_ps(s.fast_product),
        _mm512_fmadd_ps(addend, _mm512_set1_ps(s.fast_addend), _mm512_set1_ps(s.fast_shift)));
  }
  const ByteSum& s;
};

template <class Sum> struct ToSums : ToBytes {
  ToSums(const ByteResult& r, int64_t output_channels, void* result)
      : ToBytes(r, output_channels, result),
        sum(*r.sum),
        low(_mm512_set1_ps(r.rounding.low)),
        addend_flip(_mm256_set1_epi8(static_cast<char>(r.sum->flip))),
        pack_sum(r.sum->rounding) {}

  Vector converted(Vector sum, int v) const {
    const __m512 clamped = _mm512_min_ps(_mm512_max_ps(scaled(sum, v), low), high);
    return _mm512_castps_si512(_mm512_roundscale_ps(clamped, 0));
  }
  template <int N> [[gnu::always_inline]] void put(const Sums* products, const int64_t* at) const {
    Numbers x[N];
    for (int i = 0; i < N; ++i) {
      const __m256i bytes = _mm256_xor_si256(addend_of(at[i]), addend_flip);
      const __m128i halves[] = {_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)};
      for (int v = 0; v < kVectors; ++v)
        x[i][v] = sum(_mm512_castsi512_ps(products[i][v]),
                      _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(halves[v])));
    }
    put_bytes<N>(pack_sum.template operator()<N>(x), at);
  }

  void prefetch(int64_t at) const {
    ToBytes::prefetch(at);
    __builtin_prefetch(sum.s.addend + at);
  }

  __m256i addend_of(int64_t at) const {
    const uint8_t* from = sum.s.addend + at;
    if (mask == Panel::kAll) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm256_maskz_loadu_epi8(mask, from);
  }

  Sum sum;
  __m512 low;
  __m256i addend_flip;
  SaturatingPack pack_sum;
};

/// What becomes of one or two pixels' sums.
template <int N, class Epilogue>
[[gnu::always_inline]] inline void store(const Epilogue& epilogue, const Sums* sums,
                                         const int64_t* at) {
  Sums numbers[N];
  for (int i = 0; i < N; ++i)
    for (int v = 0; v < kVectors; ++v) numbers[i][v] = epilogue.converted(sums[i][v], v);
  epilogue.template put<N>(numbers, at);
}

/// Calls `with` with the epilogue that `result` names.
template <class With>
void with_epilogue(const ByteResult& result, int64_t output_channels, void* out, const With& with) {
  using To = ByteResult::To;
  if (result.to == To::kInteger) return with(ToIntegers(result, output_channels, out));
  if (result.to == To::kFloat) return with(ToFloats(result, output_channels, out));
  if (result.sum == nullptr) {
    const SmallToBytes small(result, output_channels, out);
    if (small.is_small()) return with(small);
    return with(ToBytes(result, output_channels, out));
  }
  if (result.sum->is_fast) return with(ToSums<FastSum>(result, output_channels, out));
  with(ToSums<ExactSum>(result, output_channels, out));
}

}  // namespace tenon::cpu::avx512::bytes
