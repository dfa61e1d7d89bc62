// Products of bytes with AVX2, as 16-bit integers: pairs of products are summed in 32 bits at once,
// so that nothing saturates on the way, as it would with instructions that multiply bytes.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>
#include <utility>

#include "target/cpu/simd/byte_product.h"

namespace tenon::cpu {
namespace {

typedef int32_t Word __attribute__((may_alias, aligned(1)));
using To = ByteResult::To;

constexpr int kLanes = 8;
constexpr int kVectors = 2;
constexpr int64_t kPanelMaps = kVectors * kLanes;
// Pixels that are computed together: their sums fill twelve of sixteen registers.
constexpr int kPixels = 6;
// Weights come from memory beyond the second-level cache: so many bytes before they are needed.
constexpr int64_t kAhead = 16384;
constexpr int64_t kCacheLine = 64;
// A pixel's numbers of a panel.
using Sums = __m256i[kVectors];
using Numbers = __m256[kVectors];

// What the results of a panel share.
struct Panel {
  Panel(const ByteResult& r, int64_t panel_maps) : maps(panel_maps) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (int v = 0; v < kVectors; ++v) {
      mask[v] = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(maps) - v * kLanes), lanes);
      add[v] = _mm256_maskload_epi32(r.add + v * kLanes, mask[v]);
      scale[v] = _mm256_maskload_ps(r.scale + v * kLanes, mask[v]);
      shift[v] = _mm256_maskload_ps(r.shift + v * kLanes, mask[v]);
    }
  }

  bool is_full() const { return maps >= kPanelMaps; }
  __m256 scaled(__m256i sum, int v) const {
    return _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale[v]), shift[v]);
  }

  /// Brings nearer what a finish will read or write for the result there; for most it is nothing.
  void fetch(int64_t at) const {}

  int64_t maps;
  __m256i mask[kVectors], add[kVectors];
  __m256 scale[kVectors], shift[kVectors];
};

// A finish does store(sums, at): what becomes of the sums, `add` with them, of one or two pixels
// whose results lie from element at[i] on.
struct ToIntegers : Panel {
  ToIntegers(const ByteResult& r, int64_t panel_maps, void* result)
      : Panel(r, panel_maps), out(static_cast<int32_t*>(result)) {}

  template <int N> [[gnu::always_inline]] void store(const Sums* sums, const int64_t* at) const {
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v)
        _mm256_maskstore_epi32(out + at[i] + v * kLanes, mask[v], sums[i][v]);
  }
  int32_t* out;
};

struct ToFloats : Panel {
  ToFloats(const ByteResult& r, int64_t panel_maps, void* result)
      : Panel(r, panel_maps), out(static_cast<float*>(result)) {}

  template <int N> [[gnu::always_inline]] void store(const Sums* sums, const int64_t* at) const {
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v)
        _mm256_maskstore_ps(out + at[i] + v * kLanes, mask[v], scaled(sums[i][v], v));
  }
  float* out;
};

// Numbers to bytes, which count as signed until the end. What is less than the least, NaN with it,
// becomes that as the numbers grow narrow.
struct Narrow {
  Narrow(float low, int32_t zero_point) {
    const int flips = low + static_cast<float>(zero_point) == 0 ? 128 : 0;
    flip = _mm256_set1_epi8(static_cast<char>(flips));
    zero = _mm256_set1_epi16(static_cast<int16_t>(zero_point - flips));
  }

  // Of one pixel or, in the upper half, another one.
  template <int N> [[gnu::always_inline]] __m256i operator()(const Numbers* x) const {
    __m256i words[2];
    for (int i = 0; i < N; ++i)
      words[i] = _mm256_adds_epi16(
          _mm256_packs_epi32(_mm256_cvtps_epi32(x[i][0]), _mm256_cvtps_epi32(x[i][1])), zero);
    // Four of a vector lie there, then four of the next, in each lane.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i mixed = _mm256_packs_epi16(words[0], words[N - 1]);
    return _mm256_xor_si256(_mm256_permutevar8x32_epi32(mixed, order), flip);
  }
  __m256i zero, flip;
};

struct ToBytes : Panel {
  ToBytes(const ByteResult& r, int64_t panel_maps, void* result)
      : Panel(r, panel_maps),
        out(static_cast<uint8_t*>(result)),
        high(_mm256_set1_ps(r.high)),
        narrow(r.low, r.zero) {}

  template <int N> [[gnu::always_inline]] void store(const Sums* sums, const int64_t* at) const {
    Numbers x[N];
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v) x[i][v] = _mm256_min_ps(high, scaled(sums[i][v], v));
    store_bytes<N>(narrow.template operator()<N>(x), at);
  }

  template <int N> [[gnu::always_inline]] void store_bytes(__m256i bytes, const int64_t* at) const {
    put(_mm256_castsi256_si128(bytes), out + at[0]);
    if constexpr (N > 1) put(_mm256_extracti128_si256(bytes, 1), out + at[1]);
  }

  // Where maps fill cache lines, each is that of four panels, and the first asks for it; elsewhere
  // not all are asked for.
  void fetch(int64_t at) const {
    if (reinterpret_cast<uintptr_t>(out + at) % kCacheLine < kPanelMaps)
      __builtin_prefetch(out + at, 1);
  }

  void put(__m128i bytes, uint8_t* to) const {
    if (is_full()) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    std::memcpy(to, &bytes, static_cast<size_t>(maps));
  }

  uint8_t* out;
  __m256 high;
  Narrow narrow;
};

// A product's byte and an addend's, both as numbers, the latter with its zero point.
struct ExactSum {
  explicit ExactSum(const ByteSum& sum) : s(sum) {}
  [[gnu::always_inline]] __m256 operator()(__m256 product, __m256 addend) const {
    const __m256 centred = _mm256_sub_ps(addend, _mm256_set1_ps(static_cast<float>(s.addend_zero)));
    const __m256 x = _mm256_add_ps(_mm256_mul_ps(product, _mm256_set1_ps(s.product_scale)),
                                   _mm256_mul_ps(centred, _mm256_set1_ps(s.addend_scale)));
    return _mm256_min_ps(_mm256_set1_ps(s.high), _mm256_div_ps(x, _mm256_set1_ps(s.scale)));
  }
  const ByteSum& s;
};
struct QuickSum {
  explicit QuickSum(const ByteSum& sum) : s(sum) {}
  [[gnu::always_inline]] __m256 operator()(__m256 product, __m256 addend) const {
    return _mm256_fmadd_ps(
        product, _mm256_set1_ps(s.quick_product),
        _mm256_fmadd_ps(addend, _mm256_set1_ps(s.quick_addend), _mm256_set1_ps(s.quick_shift)));
  }
  const ByteSum& s;
};

template <class Sum> struct ToSums : ToBytes {
  ToSums(const ByteResult& r, int64_t panel_maps, void* result)
      : ToBytes(r, panel_maps, result),
        sum(*r.sum),
        low(_mm256_set1_ps(r.low)),
        addend_flip(_mm_set1_epi8(static_cast<char>(r.sum->flip))),
        narrow_sum(r.sum->low, r.sum->zero) {}

  template <int N> [[gnu::always_inline]] void store(const Sums* sums, const int64_t* at) const {
    Numbers x[N];
    for (int i = 0; i < N; ++i) {
      const __m128i bytes = _mm_xor_si128(addend_of(at[i]), addend_flip);
      const __m128i halves[] = {bytes, _mm_srli_si128(bytes, kLanes)};
      for (int v = 0; v < kVectors; ++v) {
        const __m256 least = _mm256_max_ps(scaled(sums[i][v], v), low);
        const __m256 product = _mm256_round_ps(_mm256_min_ps(least, high),
                                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        x[i][v] = sum(product, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(halves[v])));
      }
    }
    store_bytes<N>(narrow_sum.template operator()<N>(x), at);
  }

  void fetch(int64_t at) const {
    ToBytes::fetch(at);
    __builtin_prefetch(sum.s.addend + at);
  }

  __m128i addend_of(int64_t at) const {
    const uint8_t* from = sum.s.addend + at;
    if (is_full()) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    __m128i some = _mm_setzero_si128();
    std::memcpy(&some, from, static_cast<size_t>(maps));
    return some;
  }

  Sum sum;
  __m256 low;
  __m128i addend_flip;
  Narrow narrow_sum;
};

// Where the window of each pixel begins, and where its result lies.
struct Segment {
  const uint8_t* first[kPixels];
  int64_t out[kPixels];
};

// P pixels. A function of its own, whose registers are all for the sums.
template <int P, class Finish>
[[gnu::noinline]] void product_of(const Segment& segment, const ByteWindows& w, const int8_t* panel,
                                  const Finish& finish) {
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) finish.fetch(segment.out[p]);
  Sums sum[P];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[p][v] = finish.add[v];
  const int64_t bytes = w.steps * kWordBytes;
  for (int64_t run = 0; run < w.runs; ++run) {
    const uint8_t* x[P];  // behind the run, as one number then counts through all pixels
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) x[p] = segment.first[p] + run * w.run_step + bytes;
    for (int64_t k = -bytes; k < 0; k += kWordBytes) {
      __m256i weights[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        weights[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel) + v);
      _mm_prefetch(panel + kAhead, _MM_HINT_T1);  // no address is wrong
      panel += kPanelMaps * kWordBytes;
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) {
        const __m256i pair = _mm256_set1_epi32(*reinterpret_cast<const Word*>(x[p] + k));
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          sum[p][v] = _mm256_add_epi32(sum[p][v], _mm256_madd_epi16(pair, weights[v]));
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p + 1 < P; p += 2) finish.template store<2>(sum + p, segment.out + p);
  if constexpr (P % 2 == 1) finish.template store<1>(sum + P - 1, segment.out + P - 1);
}

// All pixels, in segments of nearly the same number, which go on in the next row.
template <class Finish, int... P>
void product_with(std::integer_sequence<int, P...>, const Finish& finish, const ByteWindows& w,
                  const int8_t* panel, ByteResultSteps out_steps) {
  static constexpr decltype(&product_of<1, Finish>) segments[] = {product_of<P + 1, Finish>...};
  const int64_t pixels = w.rows * w.pixels, count = (pixels + kPixels - 1) / kPixels;
  int64_t row = 0, pixel = 0;
  for (int64_t s = 0; s < count; ++s) {
    const int64_t n = pixels * (s + 1) / count - pixels * s / count;
    Segment segment;
    for (int64_t p = 0; p < n; ++p) {
      segment.first[p] = w.first + row * w.row_step + pixel * w.pixel_step;
      segment.out[p] = row * out_steps.row + pixel * out_steps.pixel;
      if (++pixel < w.pixels) continue;
      pixel = 0;
      ++row;
    }
    segments[n - 1](segment, w, panel, finish);
  }
}

void product(const ByteWindows& windows, const int8_t* panel, const ByteResult& result,
             int64_t maps, void* out, ByteResultSteps out_steps) {
  const auto with = [&]<class Finish>() {
    product_with(std::make_integer_sequence<int, kPixels>(), Finish(result, maps, out), windows,
                 panel, out_steps);
  };
  if (result.to == To::kInteger) return with.template operator()<ToIntegers>();
  if (result.to == To::kFloat) return with.template operator()<ToFloats>();
  if (result.sum == nullptr) return with.template operator()<ToBytes>();
  if (result.sum->is_quick) return with.template operator()<ToSums<QuickSum>>();
  with.template operator()<ToSums<ExactSum>>();
}

void copy(const uint8_t* from, int64_t n, uint8_t flip, void* out) {
  auto* to = static_cast<uint8_t*>(out);
  const __m256i flips = _mm256_set1_epi16(flip);
  constexpr int64_t kBytes = sizeof(__m128i);
  for (; n >= kBytes; n -= kBytes, from += kBytes, to += 2 * kBytes) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_xor_si256(_mm256_cvtepu8_epi16(bytes), flips));
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto word = static_cast<int16_t>(from[i] ^ flip);
    std::memcpy(to + 2 * i, &word, sizeof(word));
  }
}

void fill(uint8_t value, int64_t n, void* out) {
  auto* to = static_cast<uint8_t*>(out);
  const int16_t word = value;
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + 2 * i, &word, sizeof(word));
}

// Whether the quick steps give every byte.
bool is_equal(const ByteSum& sum) {
  const ExactSum exact(sum);
  const QuickSum quick(sum);
  const Narrow narrow(sum.low, sum.zero);
  constexpr int kMost = 255;  // of a byte without its zero point
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int p = -kMost; p <= kMost; ++p)
    for (int a = 0; a <= kMost; a += kPanelMaps) {
      const __m256 product = _mm256_set1_ps(static_cast<float>(p));
      Numbers right[1], found[1];
      for (int v = 0; v < kVectors; ++v) {
        const __m256 addend =
            _mm256_cvtepi32_ps(_mm256_add_epi32(lanes, _mm256_set1_epi32(a + v * kLanes)));
        right[0][v] = exact(product, addend);
        found[0][v] = quick(product, addend);
      }
      const __m256i same =
          _mm256_cmpeq_epi8(narrow.operator()<1>(right), narrow.operator()<1>(found));
      if (_mm256_movemask_epi8(same) != -1) return false;
    }
  return true;
}

}  // namespace

const ByteProductKernels avx2::kByteProducts = {2,    kPanelMaps, kPixels, product,
                                                copy, fill,       is_equal};

}  // namespace tenon::cpu
#endif
