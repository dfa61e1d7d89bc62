// Products of bytes with AVX-512 VNNI.
#if defined(__x86_64__)
#include <immintrin.h>

#include "target/cpu/simd/byte_product.h"

namespace tenon::cpu {
namespace {

typedef int32_t Word __attribute__((may_alias, aligned(1)));
using To = ByteResult::To;

constexpr int64_t kLanes = 16;
constexpr int kVectors = kPanelMaps / kLanes;
constexpr int64_t kStepsOfBlock = kTileBytes / kPanelDepth;

// What the results of a panel share, in registers.
struct Results {
  Results(const ByteResult& r, int64_t maps)
      : to(r.to),
        is_full(maps >= kPanelMaps),
        sum_of(r.sum),
        low(_mm512_set1_ps(r.low)),
        high(_mm512_set1_ps(r.high)) {
    zero = _mm_set1_epi8(static_cast<char>(sum_of != nullptr ? sum_of->zero : r.zero));
    for (int v = 0; v < kVectors; ++v) {
      const int64_t lanes = maps - v * kLanes;
      mask[v] = lanes >= kLanes ? 0xffff
                : lanes > 0     ? static_cast<__mmask16>((1u << lanes) - 1)
                                : 0;
      add[v] = _mm512_maskz_loadu_epi32(mask[v], r.add + v * kLanes);
      scale[v] = _mm512_maskz_loadu_ps(mask[v], r.scale + v * kLanes);
      shift[v] = _mm512_maskz_loadu_ps(mask[v], r.shift + v * kLanes);
    }
  }

  void store(__m512i sum, int v, void* out, int64_t at) const {
    sum = _mm512_add_epi32(sum, add[v]);
    if (to == To::kInteger)
      return _mm512_mask_storeu_epi32(static_cast<int32_t*>(out) + at, mask[v], sum);
    __m512 x = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale[v]), shift[v]);
    if (to == To::kFloat) return _mm512_mask_storeu_ps(static_cast<float*>(out) + at, mask[v], x);
    x = _mm512_min_ps(_mm512_max_ps(x, low), high);  // NaN becomes low
    if (sum_of != nullptr) x = sum_with_addend(_mm512_roundscale_ps(x, 0), v, at);
    // A byte's sum is the same, wrapped, before it leaves the vector of 32 bits and after.
    const __m128i bytes = _mm_add_epi8(_mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)), zero);
    auto* const to_bytes = static_cast<uint8_t*>(out) + at;
    if (is_full) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to_bytes), bytes);
    _mm_mask_storeu_epi8(to_bytes, mask[v], bytes);
  }

  __m512 sum_with_addend(__m512 product, int v, int64_t at) const {
    const __m128i bytes = _mm_xor_si128(_mm_maskz_loadu_epi8(mask[v], sum_of->addend + at),
                                        _mm_set1_epi8(static_cast<char>(sum_of->flip)));
    const __m512 addend = _mm512_cvtepi32_ps(
        _mm512_sub_epi32(_mm512_cvtepu8_epi32(bytes), _mm512_set1_epi32(sum_of->addend_zero)));
    const __m512 sum = _mm512_add_ps(_mm512_mul_ps(product, _mm512_set1_ps(sum_of->product_scale)),
                                     _mm512_mul_ps(addend, _mm512_set1_ps(sum_of->addend_scale)));
    const __m512 x = _mm512_div_ps(sum, _mm512_set1_ps(sum_of->scale));
    return _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(sum_of->low)),
                         _mm512_set1_ps(sum_of->high));
  }

  To to;
  bool is_full;  // masked stores take several times as long
  const ByteSum* sum_of;
  __mmask16 mask[kVectors];
  __m128i zero;
  __m512i add[kVectors];
  __m512 scale[kVectors], shift[kVectors], low, high;
};

template <int R>
void product_of(const uint8_t* tile, const int8_t* panel, int64_t steps, const ByteResult& result,
                int64_t maps, void* out, int64_t at, int64_t out_step) {
  __m512i sum[R][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_si512();
  for (; steps > 0; steps -= kStepsOfBlock, tile += kTilePixels * kTileBytes) {
    const uint8_t* const end = tile + (steps < kStepsOfBlock ? steps : kStepsOfBlock) * kPanelDepth;
    for (const uint8_t* x = tile; x < end; x += kPanelDepth) {
      __m512i weights[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v, panel += kLanes * kPanelDepth)
        weights[v] = _mm512_loadu_si512(panel);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m512i bytes = _mm512_set1_epi32(*reinterpret_cast<const Word*>(x + r * kTileBytes));
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], bytes, weights[v]);
      }
    }
  }
  const Results results(result, maps);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      results.store(sum[r][v], v, out, at + r * out_step + v * kLanes);
}

void product(const uint8_t* tile, int64_t pixels, const int8_t* panel, int64_t depth,
             const ByteResult& result, int64_t maps, void* out, int64_t out_step) {
  const int64_t steps = (depth + kPanelDepth - 1) / kPanelDepth;
  int64_t p = 0;
  const auto take = [&]<int R> {
    for (; pixels - p >= R; p += R)
      product_of<R>(tile + p * kTileBytes, panel, steps, result, maps, out, p * out_step, out_step);
  };
  take.template operator()<kTilePixels>();
  take.template operator()<7>();
  take.template operator()<3>();
  take.template operator()<1>();
}

// Byte `at` of a pixel.
uint8_t* place_of(uint8_t* tile, int64_t pixel, int64_t at) {
  const auto k = static_cast<uint64_t>(at);
  return tile + (k / kTileBytes * kTilePixels + static_cast<uint64_t>(pixel)) * kTileBytes
         + k % kTileBytes;
}

// Stores `count` bytes where a block of a tile has `room` for them. More may be written where there
// is room: it is written again later, or counts for nothing.
void store_bytes(__m512i bytes, int64_t count, int64_t room, uint8_t* to) {
  if (room == kTileBytes) return _mm512_store_si512(to, bytes);
  if (count <= kTileBytes / 2 && room >= kTileBytes / 2)
    return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(bytes));
  _mm512_mask_storeu_epi8(to, ~uint64_t{0} >> (kTileBytes - count), bytes);
}

// Pieces that end where a block of a tile does.
template <class Piece>
void in_pieces(int64_t n, uint8_t* tile, int64_t pixel, int64_t at, Piece piece) {
  for (int64_t done = 0; done < n;) {
    const int64_t room = kTileBytes - (at + done) % kTileBytes;
    const int64_t count = n - done < room ? n - done : room;
    store_bytes(piece(done, count), count, room, place_of(tile, pixel, at + done));
    done += count;
  }
}

void place(const uint8_t* from, int64_t n, uint8_t flip, uint8_t* tile, int64_t pixel, int64_t at) {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  if (at % kTileBytes == 0) {  // whole blocks first
    uint8_t* to = place_of(tile, pixel, at);
    for (; n >= kTileBytes; n -= kTileBytes, at += kTileBytes, from += kTileBytes) {
      _mm512_store_si512(to, _mm512_xor_si512(_mm512_loadu_si512(from), flips));
      to += kTilePixels * kTileBytes;
    }
  }
  in_pieces(n, tile, pixel, at, [&](int64_t done, int64_t count) {
    const __m512i bytes =
        _mm512_maskz_loadu_epi8(~uint64_t{0} >> (kTileBytes - count), from + done);
    return _mm512_xor_si512(bytes, flips);
  });
}

// Stores are whole vectors, because masked ones take several times as long. What goes beyond the
// pixel's block is the beginning of the next pixel's, which comes later.
void place_rows(const uint8_t* from, int64_t step, int64_t rows, int64_t n, uint8_t flip,
                uint8_t* tile, int64_t pixel) {
  if (pixel == kTilePixels - 1) {  // the next block is of a pixel that was there before
    for (int64_t r = 0; r < rows; ++r) place(from + r * step, n, flip, tile, pixel, r * n);
    return;
  }
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const auto mask_of = [](int64_t count) { return ~uint64_t{0} >> (kTileBytes - count); };
  uint8_t* block = tile + pixel * kTileBytes;
  int64_t used = 0;  // of the block
  for (int64_t r = 0; r < rows; ++r, from += step) {
    const __m512i row = _mm512_maskz_loadu_epi8(mask_of(n), from);
    _mm512_storeu_si512(block + used, _mm512_xor_si512(row, flips));
    used += n;
    if (used < kTileBytes) continue;
    used -= kTileBytes;
    block += kTilePixels * kTileBytes;
    if (used == 0) continue;
    const __m512i rest = _mm512_maskz_loadu_epi8(mask_of(used), from + n - used);
    _mm512_store_si512(block, _mm512_xor_si512(rest, flips));
  }
}

void fill(uint8_t value, int64_t n, uint8_t* tile, int64_t pixel, int64_t at) {
  const __m512i bytes = _mm512_set1_epi8(static_cast<char>(value));
  in_pieces(n, tile, pixel, at, [&](int64_t, int64_t) { return bytes; });
}

}  // namespace

const ByteProductKernels avx512::kByteProducts = {product, place, place_rows, fill};

}  // namespace tenon::cpu
#endif
