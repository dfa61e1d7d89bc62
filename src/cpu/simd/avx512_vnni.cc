// Products of bytes and of 16-bit integers with AVX-512 VNNI.
#if defined(__x86_64__)
#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/simd/avx512_byte_epilogue.h"
#include "cpu/simd/byte_segments.h"

namespace tenon::cpu {
using namespace avx512::bytes;
}

#include "cpu/simd/avx512_byte_depthwise.h"
#include "cpu/simd/byte_depthwise_inl.h"
#include "cpu/simd/byte_rounding_inl.h"

namespace tenon::cpu {
namespace {

typedef int32_t DotGroup __attribute__((may_alias, aligned(1)));

// Pixels of a row that are computed together: the sums of two segments fill the registers. Short
// ones are for rows of which they leave less over.
constexpr int kSegment = 7, kShortSegment = 4;
// Weights come from memory beyond the L2 cache: so many bytes before they are needed.
constexpr int64_t kAhead = 16384;

// Adds the products of the dot groups of sixteen output channels with one of the data, whose
// elements have no sign where they are bytes.
struct Bytes {
  [[gnu::always_inline]] static __m512i add(__m512i sum, __m512i data, __m512i weights) {
    return _mm512_dpbusd_epi32(sum, data, weights);
  }
};
struct DotGroups {
  [[gnu::always_inline]] static __m512i add(__m512i sum, __m512i data, __m512i weights) {
    return _mm512_dpwssd_epi32(sum, data, weights);
  }
};

// S segments of P pixels, of the first V vectors of a panel. A function of its own, whose registers
// are all for the sums.
template <class Elements, int P, int V, int S, class Epilogue>
[[gnu::noinline]] void product_of(const Segment (&segments)[S], const ByteWindows& w,
                                  const int8_t* panel, const Epilogue& epilogue, int64_t out_step) {
  for (const Segment& segment : segments)
    for (int p = 0; p < segment.pixels; ++p) epilogue.prefetch(segment.out + p * out_step);
  Sums sum[P][S];
#pragma GCC unroll 16
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s)
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[p][s][v] = epilogue.add[v];
  const int64_t step = w.pixel_step, three = 3 * step, five = 5 * step;
  for (int64_t run = 0; run < w.runs; ++run) {
    const uint8_t* x[S];
    for (int s = 0; s < S; ++s) x[s] = segments[s].first + run * w.run_step;
    for (int64_t k = 0; k < w.steps; ++k) {
      __m512i weights[V];
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) {
        const int8_t* const of_vector = panel + v * kLanes * kDotGroupBytes;
        weights[v] = _mm512_loadu_si512(of_vector);
        _mm_prefetch(of_vector + kAhead, _MM_HINT_T1);  // no address is wrong
      }
      panel += kPanelChannels * kDotGroupBytes;
#pragma GCC unroll 2
      for (int s = 0; s < S; ++s) {
        asm("" : "+r"(x[s]));  // one address for all pixels, or they leave the registers
        const int64_t at[kSegment] = {0, step, 2 * step, three, 4 * step, five, 2 * three};
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {
          const __m512i data = _mm512_set1_epi32(*reinterpret_cast<const DotGroup*>(x[s] + at[p]));
#pragma GCC unroll 2
          for (int v = 0; v < V; ++v) sum[p][s][v] = Elements::add(sum[p][s][v], data, weights[v]);
        }
        x[s] += kDotGroupBytes;
      }
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v)
        asm("" : "+v"(sum[p][s][v]));  // or the loop would store them, too
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v)
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
      for (int s = 0; s < S; ++s) sum[p][s][v] = epilogue.converted(sum[p][s][v], v);
  const auto is_full = [](const Segment& segment) { return segment.pixels == P; };
  if (std::all_of(segments, segments + S, is_full)) {
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) {
      int64_t at[S];
      for (int s = 0; s < S; ++s) at[s] = segments[s].out + p * out_step;
      epilogue.template put<S>(sum[p], at);
    }
    return;
  }
#pragma GCC unroll 16
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s)
      if (p < segments[s].pixels) {
        const int64_t at = segments[s].out + p * out_step;
        epilogue.template put<1>(sum[p] + s, &at);
      }
}

// How many pixels of a row long segments take; short ones take the rest. Of these a pixel costs a
// tenth more, as they use weights less often.
int64_t long_pixels(int64_t pixels) {
  constexpr int64_t kLongCost = 10 * kSegment, kShortCost = 11 * kShortSegment;
  int64_t best = 0, best_cost = std::numeric_limits<int64_t>::max();
  // More than seven short ones are no better than four long ones.
  for (int64_t shorts = kSegment; shorts >= 0; --shorts) {
    const int64_t rest = std::max<int64_t>(pixels - shorts * kShortSegment, 0);
    const int64_t longs = (rest + kSegment - 1) / kSegment;
    const int64_t cost = longs * kLongCost + shorts * kShortCost;
    if (cost > best_cost) continue;
    best_cost = cost;
    best = longs * kSegment;
  }
  return std::min(best, pixels);
}

template <class Elements, int V, class Epilogue>
void product_with(const Epilogue& epilogue, const ByteWindows& w, const int8_t* panel,
                  ByteResultSteps out_steps) {
  const int64_t middle = long_pixels(w.pixels);
  for_segments<kSegment>(w, out_steps, 0, middle, [&](const auto& segments) {
    product_of<Elements, kSegment, V>(segments, w, panel, epilogue, out_steps.pixel);
  });
  for_segments<kShortSegment>(w, out_steps, middle, w.pixels, [&](const auto& segments) {
    product_of<Elements, kShortSegment, V>(segments, w, panel, epilogue, out_steps.pixel);
  });
}

template <class Elements>
void product(const ByteWindows& windows, const BytePanel& panel, const ByteResult& result,
             int64_t output_channels, void* out, ByteResultSteps out_steps) {
  with_epilogue(result, output_channels, out, [&](const auto& epilogue) {
    using Epilogue = std::decay_t<decltype(epilogue)>;
    auto* const run = output_channels <= kLanes ? product_with<Elements, 1, Epilogue>
                                                : product_with<Elements, kVectors, Epilogue>;
    run(epilogue, windows, panel.weights, out_steps);
  });
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

void copy_widened(const uint8_t* from, int64_t n, uint8_t flip, void* out) {
  auto* to = static_cast<uint16_t*>(out);
  const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip));
  const auto widened = [&](__m256i bytes) {
    return _mm512_cvtepu8_epi16(_mm256_xor_si256(bytes, flips));
  };
  constexpr int64_t kBytes = sizeof(__m256i);
  for (; n >= kBytes; n -= kBytes, from += kBytes, to += kBytes)
    _mm512_storeu_si512(to, widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
  if (n == 0) return;
  const __mmask32 rest = (uint32_t{1} << n) - 1;
  _mm512_mask_storeu_epi16(to, rest, widened(_mm256_maskz_loadu_epi8(rest, from)));
}

void fill_widened(uint8_t value, int64_t n, void* out) {
  std::fill_n(static_cast<uint16_t*>(out), n, uint16_t{value});
}

// Whether the fast steps give every byte.
bool is_equal(const ByteSum& sum) {
  const ExactSum exact(sum);
  const FastSum fast(sum);
  const SaturatingPack pack(sum.rounding);
  constexpr int kMax = 255;  // of a byte without its zero point
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int p = -kMax; p <= kMax; ++p)
    for (int a = 0; a <= kMax; a += kPanelChannels) {
      const __m512 product = _mm512_set1_ps(static_cast<float>(p));
      Numbers right[1], found[1];
      for (int v = 0; v < kVectors; ++v) {
        const __m512 addend =
            _mm512_cvtepi32_ps(_mm512_add_epi32(lanes, _mm512_set1_epi32(a + v * kLanes)));
        right[0][v] = exact(product, addend);
        found[0][v] = fast(product, addend);
      }
      if (_mm512_cmpneq_epi8_mask(pack.operator()<1>(right), pack.operator()<1>(found)) != 0)
        return false;
    }
  return true;
}

}  // namespace

const ByteProductKernels avx512::kInt8ByteProducts = {.element_bytes = 1,
                                                      .panel_channels = kPanelChannels,
                                                      .segment = kSegment,
                                                      .product = product<Bytes>,
                                                      .copy = copy,
                                                      .fill = fill,
                                                      .is_fast = is_equal,
                                                      .depthwise = kDotDepthwise,
                                                      .round = round,
                                                      .dequantize = dequantize};
const ByteProductKernels avx512::kByteProducts = {.element_bytes = 2,
                                                  .panel_channels = kPanelChannels,
                                                  .segment = kSegment,
                                                  .product = product<DotGroups>,
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
