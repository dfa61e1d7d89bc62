// What becomes of 32-bit sums with AVX2, shared by the loops that make them.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "cpu/simd/byte_product.h"

namespace tenon::cpu::avx2::bytes {

constexpr int kLanes = 8;
constexpr int kVectors = 2;
constexpr int64_t kPanelChannels = kVectors * kLanes;
constexpr int64_t kCacheLine = 64;
using Vector = __m256i;
// A pixel's numbers of a panel.
using Sums = Vector[kVectors];
using Numbers = __m256[kVectors];

// What the results of a panel share.
struct Panel {
  Panel(const ByteResult& r, int64_t panel_channels) : output_channels(panel_channels) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (int v = 0; v < kVectors; ++v) {
      mask[v] = _mm256_cmpgt_epi32(
          _mm256_set1_epi32(static_cast<int>(output_channels) - v * kLanes), lanes);
      add[v] = _mm256_maskload_epi32(r.add + v * kLanes, mask[v]);
      scale[v] = _mm256_maskload_ps(r.scale + v * kLanes, mask[v]);
      shift[v] = _mm256_maskload_ps(r.shift + v * kLanes, mask[v]);
    }
  }

  bool is_full() const { return output_channels >= kPanelChannels; }
  __m256 scaled(__m256i sum, int v) const {
    return _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale[v]), shift[v]);
  }

  /// Prefetches what an epilogue will read or write for the result there; for most it is nothing.
  void prefetch(int64_t at) const {}

  int64_t output_channels;
  __m256i mask[kVectors], add[kVectors];
  __m256 scale[kVectors], shift[kVectors];
};

// An epilogue does store(sums, at): what becomes of the sums, `add` with them, of one or two pixels
// whose results lie from element at[i] on.
struct ToIntegers : Panel {
  ToIntegers(const ByteResult& r, int64_t panel_channels, void* result)
      : Panel(r, panel_channels), out(static_cast<int32_t*>(result)) {}

  template <int N> [[gnu::always_inline]] void store(const Sums* sums, const int64_t* at) const {
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v) put(sums[i][v], out + at[i] + v * kLanes, v);
  }

  // Masked stores are slow.
  void put(__m256i x, int32_t* to, int v) const {
    if (is_full()) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x);
    _mm256_maskstore_epi32(to, mask[v], x);
  }

  int32_t* out;
};

struct ToFloats : Panel {
  ToFloats(const ByteResult& r, int64_t panel_channels, void* result)
      : Panel(r, panel_channels), out(static_cast<float*>(result)) {}

  template <int N> [[gnu::always_inline]] void store(const Sums* sums, const int64_t* at) const {
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v) put(scaled(sums[i][v], v), out + at[i] + v * kLanes, v);
  }

  void put(__m256 x, float* to, int v) const {
    if (is_full()) return _mm256_storeu_ps(to, x);
    _mm256_maskstore_ps(to, mask[v], x);
  }

  float* out;
};

// Numbers to bytes, which count as signed until the end. What is less than the least, NaN with it,
// becomes that once they are packed.
struct SaturatingPack {
  explicit SaturatingPack(const ByteRounding& r) {
    const int flips = r.is_signed ? 0 : 128, less = r.zero - flips;
    flip = _mm256_set1_epi8(static_cast<char>(flips));
    zero = _mm256_set1_epi16(static_cast<int16_t>(less));
    minimum = _mm256_set1_epi8(static_cast<char>(static_cast<int>(r.low) + less));
    maximum = _mm256_set1_epi8(static_cast<char>(static_cast<int>(r.high) + less));
  }

  // Of one pixel or, in the upper half, another one.
  template <int N> [[gnu::always_inline]] __m256i operator()(const Numbers* x) const {
    __m256i shorts[2];
    for (int i = 0; i < N; ++i)
      shorts[i] = _mm256_adds_epi16(
          _mm256_packs_epi32(_mm256_cvtps_epi32(x[i][0]), _mm256_cvtps_epi32(x[i][1])), zero);
    // Four of a vector lie there, then four of the next, in each lane.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i packed = _mm256_packs_epi16(shorts[0], shorts[N - 1]);
    const __m256i mixed = _mm256_min_epi8(maximum, _mm256_max_epi8(minimum, packed));
    return _mm256_xor_si256(_mm256_permutevar8x32_epi32(mixed, order), flip);
  }
  __m256i zero, flip, minimum, maximum;
};

// Channels of two pixels fill a vector of bytes, and so do twice as many that lie together.
class Rounding {
 public:
  Rounding(float scale, const ByteRounding& r)
      : divisor_(_mm256_set1_ps(scale)), high_(_mm256_set1_ps(r.high)), pack_(r) {}

  __m256i two(const float* first, const float* second) const {
    const Numbers x[] = {{divided(first), divided(first + kLanes)},
                         {divided(second), divided(second + kLanes)}};
    return pack_.template operator()<2>(x);
  }
  __m128i one(const float* from) const {
    const Numbers x[] = {{divided(from), divided(from + kLanes)}};
    return _mm256_castsi256_si128(pack_.template operator()<1>(x));
  }
  // Fewer than fill one.
  void some(const float* from, int64_t n, uint8_t* to) const {
    float all[kPanelChannels] = {};
    std::memcpy(all, from, static_cast<size_t>(n) * sizeof(float));
    const __m128i bytes = one(all);
    std::memcpy(to, &bytes, static_cast<size_t>(n));
  }

 private:
  __m256 divided(const float* from) const {
    return _mm256_min_ps(high_, _mm256_div_ps(_mm256_loadu_ps(from), divisor_));
  }

  __m256 divisor_, high_;
  SaturatingPack pack_;
};

class Dequantizing {
 public:
  explicit Dequantizing(const ByteScale& s)
      : flip_(_mm_set1_epi8(static_cast<char>(s.flip))),
        zero_(_mm256_set1_ps(s.zero)),
        scale_(_mm256_set1_ps(s.scale)) {}

  void whole(const uint8_t* from, float* to) const { _mm256_storeu_ps(to, numbers(from)); }
  void some(const uint8_t* from, int64_t n, float* to) const {
    uint8_t all[kLanes] = {};
    std::memcpy(all, from, static_cast<size_t>(n));
    float made[kLanes];
    _mm256_storeu_ps(made, numbers(all));
    std::memcpy(to, made, static_cast<size_t>(n) * sizeof(float));
  }

 private:
  __m256 numbers(const uint8_t* from) const {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const __m256i wide = _mm256_cvtepu8_epi32(_mm_xor_si128(bytes, flip_));
    return _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(wide), zero_), scale_);
  }

  __m128i flip_;
  __m256 zero_, scale_;
};

inline void store(uint8_t* to, __m128i bytes) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
}
inline __m128i lower(__m256i bytes) {
  return _mm256_castsi256_si128(bytes);
}
inline __m128i upper(__m256i bytes) {
  return _mm256_extracti128_si256(bytes, 1);
}

struct ToBytes : Panel {
  ToBytes(const ByteResult& r, int64_t panel_channels, void* result)
      : Panel(r, panel_channels),
        out(static_cast<uint8_t*>(result)),
        high(_mm256_set1_ps(r.rounding.high)),
        pack(r.rounding) {}

  template <int N> [[gnu::always_inline]] void store(const Sums* sums, const int64_t* at) const {
    Numbers x[N];
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v) x[i][v] = _mm256_min_ps(high, scaled(sums[i][v], v));
    store_bytes<N>(pack.template operator()<N>(x), at);
  }

  template <int N> [[gnu::always_inline]] void store_bytes(__m256i bytes, const int64_t* at) const {
    put(_mm256_castsi256_si128(bytes), out + at[0]);
    if constexpr (N > 1) put(_mm256_extracti128_si256(bytes, 1), out + at[1]);
  }

  // Where output channels fill cache lines, each is that of four panels, and the first prefetches
  // it; elsewhere not all are prefetched.
  void prefetch(int64_t at) const {
    if (reinterpret_cast<uintptr_t>(out + at) % kCacheLine < kPanelChannels)
      __builtin_prefetch(out + at, 1);
  }

  void put(__m128i bytes, uint8_t* to) const {
    if (is_full()) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    std::memcpy(to, &bytes, static_cast<size_t>(output_channels));
  }

  uint8_t* out;
  __m256 high;
  SaturatingPack pack;
};

// A product's byte and an addend's, both as numbers, the latter with its zero point.
struct ExactSum {
  explicit ExactSum(const ByteSum& sum) : s(sum) {}
  [[gnu::always_inline]] __m256 operator()(__m256 product, __m256 addend) const {
    const __m256 centred = _mm256_sub_ps(addend, _mm256_set1_ps(static_cast<float>(s.addend_zero)));
    const __m256 x = _mm256_add_ps(_mm256_mul_ps(product, _mm256_set1_ps(s.product_scale)),
                                   _mm256_mul_ps(centred, _mm256_set1_ps(s.addend_scale)));
    return _mm256_min_ps(_mm256_set1_ps(s.rounding.high),
                         _mm256_div_ps(x, _mm256_set1_ps(s.scale)));
  }
  const ByteSum& s;
};
struct FastSum {
  explicit FastSum(const ByteSum& sum) : s(sum) {}
  [[gnu::always_inline]] __m256 operator()(__m256 product, __m256 addend) const {
    return _mm256_fmadd_ps(
        product, _mm256_set1_ps(s.fast_product),
        _mm256_fmadd_ps(addend, _mm256_set1_ps(s.fast_addend), _mm256_set1_ps(s.fast_shift)));
  }
  const ByteSum& s;
};

template <class Sum> struct ToSums : ToBytes {
  ToSums(const ByteResult& r, int64_t panel_channels, void* result)
      : ToBytes(r, panel_channels, result),
        sum(*r.sum),
        low(_mm256_set1_ps(r.rounding.low)),
        addend_flip(_mm_set1_epi8(static_cast<char>(r.sum->flip))),
        pack_sum(r.sum->rounding) {}

  template <int N> [[gnu::always_inline]] void store(const Sums* sums, const int64_t* at) const {
    Numbers x[N];
    for (int i = 0; i < N; ++i) {
      const __m128i bytes = _mm_xor_si128(addend_of(at[i]), addend_flip);
      const __m128i halves[] = {bytes, _mm_srli_si128(bytes, kLanes)};
      for (int v = 0; v < kVectors; ++v) {
        const __m256 clamped = _mm256_max_ps(scaled(sums[i][v], v), low);
        const __m256 product = _mm256_round_ps(_mm256_min_ps(clamped, high),
                                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        x[i][v] = sum(product, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(halves[v])));
      }
    }
    store_bytes<N>(pack_sum.template operator()<N>(x), at);
  }

  void prefetch(int64_t at) const {
    ToBytes::prefetch(at);
    __builtin_prefetch(sum.s.addend + at);
  }

  __m128i addend_of(int64_t at) const {
    const uint8_t* from = sum.s.addend + at;
    if (is_full()) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    __m128i some = _mm_setzero_si128();
    std::memcpy(&some, from, static_cast<size_t>(output_channels));
    return some;
  }

  Sum sum;
  __m256 low;
  __m128i addend_flip;
  SaturatingPack pack_sum;
};

/// What becomes of one or two pixels' sums.
template <int N, class Epilogue>
[[gnu::always_inline]] inline void store(const Epilogue& epilogue, const Sums* sums,
                                         const int64_t* at) {
  epilogue.template store<N>(sums, at);
}

/// Calls `with` with the epilogue that `result` names.
template <class With>
void with_epilogue(const ByteResult& result, int64_t output_channels, void* out, const With& with) {
  using To = ByteResult::To;
  if (result.to == To::kInteger) return with(ToIntegers(result, output_channels, out));
  if (result.to == To::kFloat) return with(ToFloats(result, output_channels, out));
  if (result.sum == nullptr) return with(ToBytes(result, output_channels, out));
  if (result.sum->is_fast) return with(ToSums<FastSum>(result, output_channels, out));
  with(ToSums<ExactSum>(result, output_channels, out));
}

}  // namespace tenon::cpu::avx2::bytes
