// Products of bytes with AVX2, exactly: as 16-bit integers, or by the instruction that multiplies
// bytes, whose sums of two products saturate in 16 bits, where they cannot.
#if defined(__x86_64__)
#include <cstring>
#include <utility>

#include "cpu/simd/avx2_byte_epilogue.h"

namespace tenon::cpu {
using namespace avx2::bytes;
}

#include "cpu/simd/byte_depthwise_inl.h"
#include "cpu/simd/byte_rounding_inl.h"

namespace tenon::cpu {
namespace {

typedef int32_t DotGroup __attribute__((may_alias, aligned(1)));

// Pixels that are computed together: their sums fill twelve of sixteen registers.
constexpr int kPixels = 6;
// Where the window of each pixel begins, and where its result lies.
struct Segment {
  const uint8_t* first[kPixels];
  int64_t out[kPixels];
};

// What is multiplied next comes from memory beyond the L2 cache, a share of it with each
// segment and a little with each dot group, so that memory is never waited for nor idle.
struct Ahead {
  // No address is wrong.
  void prefetch() {
    _mm_prefetch(next, _MM_HINT_T1);
    next += step;
  }
  const int8_t* next;
  int64_t step;
};

// Adds the products of a run: x are the windows' elements in it, and the panel goes on.
struct DotPairs {
  template <int P>
  [[gnu::always_inline]] void add(const uint8_t* const* x, int64_t dot_groups, Sums* sum) {
    const int64_t bytes = dot_groups * kDotGroupBytes;
    const uint8_t* end[P];  // of the run, as one number then counts through all pixels
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) end[p] = x[p] + bytes;
    for (int64_t k = -bytes; k < 0; k += kDotGroupBytes) {
      __m256i weights[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        weights[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel) + v);
      ahead.prefetch();
      panel += kPanelChannels * kDotGroupBytes;
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) {
        const __m256i pair = _mm256_set1_epi32(*reinterpret_cast<const DotGroup*>(end[p] + k));
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          sum[p][v] = _mm256_add_epi32(sum[p][v], _mm256_madd_epi16(pair, weights[v]));
      }
    }
  }

  DotPairs(const BytePanel& of, Ahead next) : ahead(next), panel(of.weights) {}
  Ahead ahead;
  const int8_t* panel;
};

// With an operand that is left in memory, where the compiler would keep it instead of a sum.
__m256i multiply_pairs(__m256i bytes, const __m256i_u& weights) {
  __m256i pairs;
  asm("vpmaddubsw %2, %1, %0" : "=x"(pairs) : "x"(bytes), "m"(weights));
  return pairs;
}
__m256i complement(__m256i bytes, const __m256i_u& mask) {
  __m256i data;
  asm("vpxor %2, %1, %0" : "=x"(data) : "x"(bytes), "m"(mask));
  return data;
}

struct BytePairs {
  template <int P>
  [[gnu::always_inline]] void add(const uint8_t* const* x, int64_t dot_groups, Sums* sum) {
    const int32_t* const groups = order;
    order += kByteGroups;
    add_group<P, false, false>(x, groups[0], sum);
    add_group<P, true, false>(x, groups[1], sum);
    add_group<P, false, true>(x, groups[2], sum);
    add_group<P, true, true>(x, groups[3], sum);
  }

  // Complementing elements for output channels of the first vector, of the second.
  template <int P, bool kFirst, bool kSecond>
  [[gnu::always_inline]] void add_group(const uint8_t* const* x, int64_t dot_groups, Sums* sum) {
    const __m256i ones = _mm256_set1_epi16(1);
    constexpr bool kIsComplemented[kVectors] = {kFirst, kSecond};
    constexpr int kMasks = int{kFirst} + int{kSecond};
    for (const int32_t* const end = order + dot_groups; order < end; ++order) {
      const int64_t k = *order * kDotGroupBytes;
      const __m256i_u* const weights = reinterpret_cast<const __m256i_u*>(panel);
      const __m256i first = weights[0];
      ahead.prefetch();
      panel += (kVectors + kMasks) * static_cast<int>(sizeof(__m256i));
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) {
        const __m256i bytes = _mm256_set1_epi32(*reinterpret_cast<const DotGroup*>(x[p] + k));
        int mask = kVectors;
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          const __m256i data = kIsComplemented[v] ? complement(bytes, weights[mask++]) : bytes;
          const __m256i pairs =
              v == 0 ? _mm256_maddubs_epi16(data, first) : multiply_pairs(data, weights[v]);
          sum[p][v] = _mm256_add_epi32(sum[p][v], _mm256_madd_epi16(pairs, ones));
        }
        // One pixel after the other, or there are not registers enough.
        asm volatile("" : "+x"(sum[p][0]), "+x"(sum[p][1]));
      }
    }
  }

  BytePairs(const BytePanel& of, Ahead next) : ahead(next), panel(of.weights), order(of.order) {}
  Ahead ahead;
  const int8_t* panel;
  const int32_t* order;
};

// P pixels. A function of its own, whose registers are all for the sums.
template <int P, class Products, class Epilogue>
[[gnu::noinline]] void product_of(const Segment& segment, const ByteWindows& w,
                                  const BytePanel& panel, Ahead ahead, const Epilogue& epilogue) {
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) epilogue.prefetch(segment.out[p]);
  Sums sum[P];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[p][v] = epilogue.add[v];
  Products products(panel, ahead);
  for (int64_t run = 0; run < w.runs; ++run) {
    const uint8_t* x[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) x[p] = segment.first[p] + run * w.run_step;
    products.template add<P>(x, w.steps, sum);
  }
#pragma GCC unroll 4
  for (int p = 0; p + 1 < P; p += 2) epilogue.template store<2>(sum + p, segment.out + p);
  if constexpr (P % 2 == 1) epilogue.template store<1>(sum + P - 1, segment.out + P - 1);
}

// All pixels, in segments of nearly the same number, which go on in the next row.
template <class Products, class Epilogue, int... P>
void product_with(std::integer_sequence<int, P...>, const Epilogue& epilogue, const ByteWindows& w,
                  const BytePanel& panel, ByteResultSteps out_steps) {
  static constexpr decltype(&product_of<1, Products, Epilogue>) segments[] = {
      product_of<P + 1, Products, Epilogue>...};
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
    const int8_t* const next = panel.weights + panel.bytes + panel.bytes * s / count;
    segments[n - 1](segment, w, panel, {next, (kCacheLine + count - 1) / count}, epilogue);
  }
}

template <class Products>
void product(const ByteWindows& windows, const BytePanel& panel, const ByteResult& result,
             int64_t output_channels, void* out, ByteResultSteps out_steps) {
  with_epilogue(result, output_channels, out, [&](const auto& epilogue) {
    product_with<Products>(std::make_integer_sequence<int, kPixels>(), epilogue, windows, panel,
                           out_steps);
  });
}

void copy_widened(const uint8_t* from, int64_t n, uint8_t flip, void* out) {
  auto* to = static_cast<uint8_t*>(out);
  const __m256i flips = _mm256_set1_epi16(flip);
  constexpr int64_t kBytes = sizeof(__m128i);
  for (; n >= kBytes; n -= kBytes, from += kBytes, to += 2 * kBytes) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_xor_si256(_mm256_cvtepu8_epi16(bytes), flips));
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto element = static_cast<int16_t>(from[i] ^ flip);
    std::memcpy(to + 2 * i, &element, sizeof(element));
  }
}

void fill_widened(uint8_t value, int64_t n, void* out) {
  auto* to = static_cast<uint8_t*>(out);
  const int16_t element = value;
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + 2 * i, &element, sizeof(element));
}

void copy(const uint8_t* from, int64_t n, uint8_t flip, void* out) {
  auto* to = static_cast<uint8_t*>(out);
  const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip));
  constexpr int64_t kBytes = sizeof(__m256i);
  for (; n >= kBytes; n -= kBytes, from += kBytes, to += kBytes) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_xor_si256(bytes, flips));
  }
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] ^ flip;
}

void fill(uint8_t value, int64_t n, void* out) {
  std::memset(out, value, static_cast<size_t>(n));
}

// Whether the fast steps give every byte.
bool is_equal(const ByteSum& sum) {
  const ExactSum exact(sum);
  const FastSum fast(sum);
  const SaturatingPack pack(sum.rounding);
  constexpr int kMax = 255;  // of a byte without its zero point
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int p = -kMax; p <= kMax; ++p)
    for (int a = 0; a <= kMax; a += kPanelChannels) {
      const __m256 product = _mm256_set1_ps(static_cast<float>(p));
      Numbers right[1], found[1];
      for (int v = 0; v < kVectors; ++v) {
        const __m256 addend =
            _mm256_cvtepi32_ps(_mm256_add_epi32(lanes, _mm256_set1_epi32(a + v * kLanes)));
        right[0][v] = exact(product, addend);
        found[0][v] = fast(product, addend);
      }
      const __m256i same = _mm256_cmpeq_epi8(pack.operator()<1>(right), pack.operator()<1>(found));
      if (_mm256_movemask_epi8(same) != -1) return false;
    }
  return true;
}

}  // namespace

const ByteProductKernels avx2::kInt8ByteProducts = {.element_bytes = 1,
                                                    .panel_channels = kPanelChannels,
                                                    .segment = kPixels,
                                                    .product = product<BytePairs>,
                                                    .copy = copy,
                                                    .fill = fill,
                                                    .is_fast = is_equal,
                                                    .depthwise = kDepthwise,
                                                    .round = round,
                                                    .dequantize = dequantize,
                                                    .complements = true};
const ByteProductKernels avx2::kByteProducts = {.element_bytes = 2,
                                                .panel_channels = kPanelChannels,
                                                .segment = kPixels,
                                                .product = product<DotPairs>,
                                                .copy = copy_widened,
                                                .fill = fill_widened,
                                                .is_fast = is_equal,
                                                .depthwise = kDepthwise,
                                                .round = round,
                                                .dequantize = dequantize,
                                                .winograd = kByteWinograd,
                                                .int8 = &kInt8ByteProducts};

}  // namespace tenon::cpu
#endif
