// Products of bytes with AVX2, as 16-bit integers: pairs of products are summed in 32 bits at once,
// so that nothing saturates on the way, as it would with instructions that multiply bytes.
#if defined(__x86_64__)
#include <cstring>
#include <utility>

#include "target/cpu/simd/avx2_byte_finish.h"

namespace tenon::cpu {
namespace {

using namespace avx2::bytes;
typedef int32_t Word __attribute__((may_alias, aligned(1)));

// Pixels that are computed together: their sums fill twelve of sixteen registers.
constexpr int kPixels = 6;
// Weights come from memory beyond the second-level cache: so many bytes before they are needed.
constexpr int64_t kAhead = 16384;

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
  with_finish(result, maps, out, [&](const auto& finish) {
    product_with(std::make_integer_sequence<int, kPixels>(), finish, windows, panel, out_steps);
  });
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

const ByteProductKernels avx2::kByteProducts = {2,    kPanelMaps, kPixels,  product,
                                                copy, fill,       is_equal, kByteWinograd};

}  // namespace tenon::cpu
#endif
