// Products of bytes with AVX-512 VNNI.
#if defined(__x86_64__)
#include <immintrin.h>

#include "target/cpu/simd/byte_product.h"

namespace tenon::cpu {
namespace {

typedef int32_t Word __attribute__((may_alias, aligned(1)));
using To = ByteResult::To;

constexpr int64_t kLanes = 16;
// Weights come from memory beyond the second-level cache: so many bytes before they are needed.
constexpr int64_t kAhead = 16384;
constexpr int kVectors = kPanelMaps / kLanes;
constexpr int64_t kStepsOfBlock = kTileBytes / kPanelDepth;

// What the results of a panel share, in registers.
struct Results {
  Results(const ByteResult& r, int64_t maps)
      : to(r.to),
        mask(maps >= kPanelMaps ? kAll : (1u << maps) - 1),
        sum_of(r.sum),
        low(_mm512_set1_ps(r.low)),
        high(_mm512_set1_ps(r.high)) {
    const int32_t zero_point = r.sum != nullptr ? r.sum->zero : r.zero;
    const float least = (r.sum != nullptr ? r.sum->low : r.low) + static_cast<float>(zero_point);
    const int flips = least == 0 ? 128 : 0;
    flip = _mm256_set1_epi8(static_cast<char>(flips));
    zero = _mm512_set1_epi16(static_cast<int16_t>(zero_point - flips));
    for (int v = 0; v < kVectors; ++v) {
      add[v] = _mm512_maskz_loadu_epi32(mask_of(v), r.add + v * kLanes);
      scale[v] = _mm512_maskz_loadu_ps(mask_of(v), r.scale + v * kLanes);
      shift[v] = _mm512_maskz_loadu_ps(mask_of(v), r.shift + v * kLanes);
    }
  }

  void store(const __m512i (&sum)[kVectors], void* out, int64_t at) const {
    if (to == To::kByte) return store_bytes(sum, static_cast<uint8_t*>(out), at);
    for (int v = 0; v < kVectors; ++v, at += kLanes)
      if (to == To::kInteger)
        _mm512_mask_storeu_epi32(static_cast<int32_t*>(out) + at, mask_of(v),
                                 _mm512_add_epi32(sum[v], add[v]));
      else
        _mm512_mask_storeu_ps(static_cast<float*>(out) + at, mask_of(v), scaled(sum[v], v));
  }

  __m512 scaled(__m512i sum, int v) const {
    const __m512 x = _mm512_cvtepi32_ps(_mm512_add_epi32(sum, add[v]));
    return _mm512_add_ps(_mm512_mul_ps(x, scale[v]), shift[v]);
  }

  // Bytes count as signed until the end. What is less than the least, NaN with it, becomes that as
  // the numbers grow narrow.
  void store_bytes(const __m512i (&sum)[kVectors], uint8_t* out, int64_t at) const {
    __m512 x[kVectors];
    for (int v = 0; v < kVectors; ++v) x[v] = scaled(sum[v], v);
    if (sum_of != nullptr) add_addend(x, at);
    const __m512 most = sum_of != nullptr ? _mm512_set1_ps(sum_of->high) : high;
    const __m512i words = _mm512_packs_epi32(_mm512_cvtps_epi32(_mm512_min_ps(most, x[0])),
                                             _mm512_cvtps_epi32(_mm512_min_ps(most, x[1])));
    const __m256i mixed = _mm512_cvtsepi16_epi8(_mm512_adds_epi16(words, zero));
    // Four of one vector lie there, then four of the other.
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    const __m256i bytes = _mm256_xor_si256(_mm256_permutevar8x32_epi32(mixed, order), flip);
    if (mask == kAll)  // masked stores take several times as long
      return _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), bytes);
    _mm256_mask_storeu_epi8(out + at, mask, bytes);
  }

  void add_addend(__m512 (&x)[kVectors], int64_t at) const {
    const __m256i bytes = _mm256_xor_si256(_mm256_maskz_loadu_epi8(mask, sum_of->addend + at),
                                           _mm256_set1_epi8(static_cast<char>(sum_of->flip)));
    const __m128i halves[] = {_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)};
    for (int v = 0; v < kVectors; ++v) {
      const __m512 product = _mm512_roundscale_ps(_mm512_min_ps(_mm512_max_ps(x[v], low), high), 0);
      const __m512 addend = _mm512_cvtepi32_ps(_mm512_sub_epi32(
          _mm512_cvtepu8_epi32(halves[v]), _mm512_set1_epi32(sum_of->addend_zero)));
      const __m512 sum =
          _mm512_add_ps(_mm512_mul_ps(product, _mm512_set1_ps(sum_of->product_scale)),
                        _mm512_mul_ps(addend, _mm512_set1_ps(sum_of->addend_scale)));
      x[v] = _mm512_div_ps(sum, _mm512_set1_ps(sum_of->scale));
    }
  }

  __mmask16 mask_of(int v) const { return static_cast<__mmask16>(mask >> (v * kLanes)); }

  static constexpr __mmask32 kAll = ~__mmask32{0};
  To to;
  __mmask32 mask;
  const ByteSum* sum_of;
  __m512i add[kVectors];
  __m512 scale[kVectors], shift[kVectors], low, high;
  __m512i zero;
  __m256i flip;
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
      for (int v = 0; v < kVectors; ++v, panel += kLanes * kPanelDepth) {
        weights[v] = _mm512_loadu_si512(panel);
        _mm_prefetch(panel + kAhead, _MM_HINT_T1);  // no address is wrong
      }
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
  for (int r = 0; r < R; ++r) results.store(sum[r], out, at + r * out_step);
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

// Of so many bytes, 1 to kTileBytes.
__mmask64 mask_of_first(int64_t count) {
  return ~uint64_t{0} >> (kTileBytes - count);
}

// Stores `count` bytes where a block of a tile has `room` for them. More may be written where there
// is room: it is written again later, or counts for nothing.
void store_bytes(__m512i bytes, int64_t count, int64_t room, uint8_t* to) {
  if (room == kTileBytes) return _mm512_store_si512(to, bytes);
  if (count <= kTileBytes / 2 && room >= kTileBytes / 2)
    return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(bytes));
  _mm512_mask_storeu_epi8(to, mask_of_first(count), bytes);
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
    const __m512i bytes = _mm512_maskz_loadu_epi8(mask_of_first(count), from + done);
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
  uint8_t* block = tile + pixel * kTileBytes;
  int64_t used = 0;  // of the block
  for (int64_t r = 0; r < rows; ++r, from += step) {
    const __m512i row = _mm512_maskz_loadu_epi8(mask_of_first(n), from);
    _mm512_storeu_si512(block + used, _mm512_xor_si512(row, flips));
    used += n;
    if (used < kTileBytes) continue;
    used -= kTileBytes;
    block += kTilePixels * kTileBytes;
    if (used == 0) continue;
    const __m512i rest = _mm512_maskz_loadu_epi8(mask_of_first(used), from + n - used);
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
