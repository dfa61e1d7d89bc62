// Products of bytes with AVX-512 VNNI.
#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 says so of its own intrinsics when they are inlined.
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <cstring>

#include "target/cpu/simd/byte_product.h"

namespace tenon::cpu {
namespace {

typedef int32_t Word __attribute__((may_alias, aligned(1)));
using To = ByteResult::To;

constexpr int64_t kLanes = 16;
constexpr int64_t kPanelMaps = 32;
constexpr int64_t kSegment = 7;
// Weights come from memory beyond the second-level cache: so many bytes before they are needed.
constexpr int64_t kAhead = 16384;
constexpr int kVectors = kPanelMaps / kLanes;
// Pixels whose bytes are narrowed together.
constexpr int kPair = 2;
// A pixel's numbers of a panel.
using Sums = __m512i[kVectors];
using Numbers = __m512[kVectors];

// What the results of a panel share.
struct Panel {
  Panel(const ByteResult& r, int64_t maps) : mask(maps >= kPanelMaps ? kAll : (1u << maps) - 1) {
    for (int v = 0; v < kVectors; ++v) {
      add[v] = _mm512_maskz_loadu_epi32(mask_of(v), r.add + v * kLanes);
      scale[v] = _mm512_maskz_loadu_ps(mask_of(v), r.scale + v * kLanes);
      shift[v] = _mm512_maskz_loadu_ps(mask_of(v), r.shift + v * kLanes);
    }
  }

  __m512 scaled(__m512i sum, int v) const {
    return _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale[v]), shift[v]);
  }

  /// Brings nearer what a finish will read for the result there; for most it is nothing.
  void fetch(int64_t at) const {}

  __mmask16 mask_of(int v) const { return static_cast<__mmask16>(mask >> (v * kLanes)); }

  static constexpr __mmask32 kAll = ~__mmask32{0};
  __mmask32 mask;
  __m512i add[kVectors];
  __m512 scale[kVectors], shift[kVectors];
};

// A finish does store(sums, out): what becomes of a pixel's sums, `add` with them, that lie at
// element out[i] of the result.
struct ToIntegers : Panel {
  ToIntegers(const ByteResult& r, int64_t maps, void* result)
      : Panel(r, maps), out(static_cast<int32_t*>(result)) {}

  template <int N>
  [[gnu::always_inline]] void store(const Sums (&sums)[N], const int64_t (&at)[N]) const {
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v)
        _mm512_mask_storeu_epi32(out + at[i] + v * kLanes, mask_of(v), sums[i][v]);
  }
  int32_t* out;
};

struct ToFloats : Panel {
  ToFloats(const ByteResult& r, int64_t maps, void* result)
      : Panel(r, maps), out(static_cast<float*>(result)) {}

  template <int N>
  [[gnu::always_inline]] void store(const Sums (&sums)[N], const int64_t (&at)[N]) const {
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v)
        _mm512_mask_storeu_ps(out + at[i] + v * kLanes, mask_of(v), scaled(sums[i][v], v));
  }
  float* out;
};

// Numbers to bytes, which count as signed until the end. What is less than the least, NaN with it,
// becomes that as the numbers grow narrow.
struct Narrow {
  Narrow(float low, int32_t zero_point) {
    const int flips = low + static_cast<float>(zero_point) == 0 ? 128 : 0;
    flip = _mm512_set1_epi8(static_cast<char>(flips));
    zero = _mm512_set1_epi16(static_cast<int16_t>(zero_point - flips));
  }

  // Of one pixel or, above it, another one.
  template <int N> [[gnu::always_inline]] __m512i operator()(const Numbers (&x)[N]) const {
    __m512i words[kPair];
    for (int i = 0; i < N; ++i)
      words[i] = _mm512_adds_epi16(
          _mm512_packs_epi32(_mm512_cvtps_epi32(x[i][0]), _mm512_cvtps_epi32(x[i][1])), zero);
    // Four of a vector lie there, then four of the next, in each lane.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i mixed = _mm512_packs_epi16(words[0], words[N - 1]);
    return _mm512_xor_si512(_mm512_permutexvar_epi32(order, mixed), flip);
  }
  __m512i zero, flip;
};

struct ToBytes : Panel {
  ToBytes(const ByteResult& r, int64_t maps, void* result)
      : Panel(r, maps),
        out(static_cast<uint8_t*>(result)),
        high(_mm512_set1_ps(r.high)),
        narrow(r.low, r.zero) {}

  template <int N>
  [[gnu::always_inline]] void store(const Sums (&sums)[N], const int64_t (&at)[N]) const {
    Numbers x[N];
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v) x[i][v] = _mm512_min_ps(high, scaled(sums[i][v], v));
    store_bytes(narrow(x), at);
  }

  template <int N>
  [[gnu::always_inline]] void store_bytes(__m512i bytes, const int64_t (&at)[N]) const {
    put(_mm512_castsi512_si256(bytes), out + at[0]);
    if constexpr (N > 1) put(_mm512_extracti64x4_epi64(bytes, 1), out + at[1]);
  }

  // Where maps fill cache lines, each is that of two panels, and the first asks for it; elsewhere
  // not all are asked for.
  void fetch(int64_t at) const {
    if (reinterpret_cast<uintptr_t>(out + at) % 64 < 32) __builtin_prefetch(out + at, 1);
  }

  void put(__m256i bytes, uint8_t* to) const {
    if (mask == Panel::kAll)  // masked stores take several times as long
      return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
    _mm256_mask_storeu_epi8(to, mask, bytes);
  }

  uint8_t* out;
  __m512 high;
  Narrow narrow;
};

// A product's byte and an addend's, both as numbers, the latter with its zero point.
struct ExactSum {
  explicit ExactSum(const ByteSum& sum) : s(sum) {}
  __m512 operator()(__m512 product, __m512 addend) const {
    const __m512 centred = _mm512_sub_ps(addend, _mm512_set1_ps(static_cast<float>(s.addend_zero)));
    const __m512 x = _mm512_add_ps(_mm512_mul_ps(product, _mm512_set1_ps(s.product_scale)),
                                   _mm512_mul_ps(centred, _mm512_set1_ps(s.addend_scale)));
    return _mm512_min_ps(_mm512_set1_ps(s.high), _mm512_div_ps(x, _mm512_set1_ps(s.scale)));
  }
  const ByteSum& s;
};
struct QuickSum {
  explicit QuickSum(const ByteSum& sum) : s(sum) {}
  __m512 operator()(__m512 product, __m512 addend) const {
    return _mm512_fmadd_ps(
        product, _mm512_set1_ps(s.quick_product),
        _mm512_fmadd_ps(addend, _mm512_set1_ps(s.quick_addend), _mm512_set1_ps(s.quick_shift)));
  }
  const ByteSum& s;
};

template <class Sum> struct ToSums : ToBytes {
  ToSums(const ByteResult& r, int64_t maps, void* result)
      : ToBytes(r, maps, result),
        sum(*r.sum),
        low(_mm512_set1_ps(r.low)),
        addend_flip(_mm256_set1_epi8(static_cast<char>(r.sum->flip))),
        narrow_sum(r.sum->low, r.sum->zero) {}

  template <int N>
  [[gnu::always_inline]] void store(const Sums (&sums)[N], const int64_t (&at)[N]) const {
    Numbers x[N];
    for (int i = 0; i < N; ++i) {
      const __m256i bytes = _mm256_xor_si256(addend_of(at[i]), addend_flip);
      const __m128i halves[] = {_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)};
      for (int v = 0; v < kVectors; ++v) {
        const __m512 least = _mm512_max_ps(scaled(sums[i][v], v), low);
        const __m512 product = _mm512_roundscale_ps(_mm512_min_ps(least, high), 0);
        x[i][v] = sum(product, _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(halves[v])));
      }
    }
    store_bytes(narrow_sum(x), at);
  }

  void fetch(int64_t at) const {
    ToBytes::fetch(at);
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
  Narrow narrow_sum;
};

// Pixels of a row, at most kSegment.
struct Segment {
  const uint8_t* first;
  int64_t pixels, out;
};

// S segments. A function of its own, whose registers are all for the sums.
template <int S, class Finish>
[[gnu::noinline]] void product_of(const Segment (&segments)[S], const ByteWindows& w,
                                  const int8_t* panel, const Finish& finish, int64_t out_step) {
  for (const Segment& segment : segments)
    for (int p = 0; p < segment.pixels; ++p) finish.fetch(segment.out + p * out_step);
  Sums sum[kSegment][S];
#pragma GCC unroll 16
  for (int p = 0; p < kSegment; ++p)
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s)
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[p][s][v] = finish.add[v];
  const int64_t step = w.pixel_step, three = 3 * step, five = 5 * step;
  for (int64_t run = 0; run < w.runs; ++run) {
    const uint8_t* x[S];
    for (int s = 0; s < S; ++s) x[s] = segments[s].first + run * w.run_step;
    for (int64_t k = 0; k < w.steps; ++k) {
      __m512i weights[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v, panel += kLanes * kWordBytes) {
        weights[v] = _mm512_loadu_si512(panel);
        _mm_prefetch(panel + kAhead, _MM_HINT_T1);  // no address is wrong
      }
#pragma GCC unroll 2
      for (int s = 0; s < S; ++s) {
        asm("" : "+r"(x[s]));  // one address for seven pixels, or they leave the registers
        const int64_t at[kSegment] = {0, step, 2 * step, three, 4 * step, five, 2 * three};
#pragma GCC unroll 16
        for (int p = 0; p < kSegment; ++p) {
          const __m512i bytes = _mm512_set1_epi32(*reinterpret_cast<const Word*>(x[s] + at[p]));
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v)
            sum[p][s][v] = _mm512_dpbusd_epi32(sum[p][s][v], bytes, weights[v]);
        }
        x[s] += kWordBytes;
      }
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < kSegment; ++p)
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s)
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        asm("" : "+v"(sum[p][s][v]));  // or the loop would store them, too
#pragma GCC unroll 16
  for (int p = 0; p < kSegment; ++p) {
    if constexpr (S == 2) {
      if (p < segments[0].pixels && p < segments[1].pixels) {
        finish.store(sum[p], {segments[0].out + p * out_step, segments[1].out + p * out_step});
        continue;
      }
    }
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s)
      if (p < segments[s].pixels)
        finish.template store<1>({{sum[p][s][0], sum[p][s][1]}}, {segments[s].out + p * out_step});
  }
}

template <class Finish>
void product_with(const Finish& finish, const ByteWindows& w, const int8_t* panel,
                  ByteResultSteps out_steps) {
  int64_t row = 0, pixel = 0;
  const auto next = [&] {
    const Segment segment = {w.first + row * w.row_step + pixel * w.pixel_step,
                             w.pixels - pixel < kSegment ? w.pixels - pixel : kSegment,
                             row * out_steps.row + pixel * out_steps.pixel};
    pixel += kSegment;
    if (pixel >= w.pixels) {
      pixel = 0;
      ++row;
    }
    return segment;
  };
  while (row < w.rows) {
    const Segment first = next();
    if (row < w.rows)
      product_of<2>({first, next()}, w, panel, finish, out_steps.pixel);
    else
      product_of<1>({first}, w, panel, finish, out_steps.pixel);
  }
}

void product(const ByteWindows& windows, const BytePanel& panel, const ByteResult& result,
             int64_t maps, void* out, ByteResultSteps out_steps) {
  const auto with = [&]<class Finish>() {
    product_with(Finish(result, maps, out), windows, panel.weights, out_steps);
  };
  if (result.to == To::kInteger) return with.template operator()<ToIntegers>();
  if (result.to == To::kFloat) return with.template operator()<ToFloats>();
  if (result.sum == nullptr) return with.template operator()<ToBytes>();
  if (result.sum->is_quick) return with.template operator()<ToSums<QuickSum>>();
  with.template operator()<ToSums<ExactSum>>();
}

void copy(const uint8_t* from, int64_t n, uint8_t flip, void* out) {
  auto* to = static_cast<uint8_t*>(out);
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  constexpr int64_t kBytes = sizeof(__m512i);
  for (; n >= kBytes; n -= kBytes, from += kBytes, to += kBytes)
    _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_loadu_si512(from), flips));
  if (n == 0) return;
  const __mmask64 rest = (uint64_t{1} << n) - 1;
  _mm512_mask_storeu_epi8(to, rest, _mm512_xor_si512(_mm512_maskz_loadu_epi8(rest, from), flips));
}

void fill(uint8_t value, int64_t n, void* out) {
  std::memset(out, value, static_cast<size_t>(n));
}

// Whether the quick steps give every byte.
bool is_equal(const ByteSum& sum) {
  const ExactSum exact(sum);
  const QuickSum quick(sum);
  const Narrow narrow(sum.low, sum.zero);
  constexpr int kMost = 255;  // of a byte without its zero point
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int p = -kMost; p <= kMost; ++p)
    for (int a = 0; a <= kMost; a += kPanelMaps) {
      const __m512 product = _mm512_set1_ps(static_cast<float>(p));
      Numbers right[1], found[1];
      for (int v = 0; v < kVectors; ++v) {
        const __m512 addend =
            _mm512_cvtepi32_ps(_mm512_add_epi32(lanes, _mm512_set1_epi32(a + v * kLanes)));
        right[0][v] = exact(product, addend);
        found[0][v] = quick(product, addend);
      }
      if (_mm512_cmpneq_epi8_mask(narrow(right), narrow(found)) != 0) return false;
    }
  return true;
}

}  // namespace

const ByteProductKernels avx512::kByteProducts = {1,    kPanelMaps, kSegment, product,
                                                  copy, fill,       is_equal};

}  // namespace tenon::cpu
#endif
