// Products of bytes that are summed in 32 bits, exactly: what a convolution of 8-bit integers is.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// A tile holds the bytes of kTilePixels pixels, kTileBytes of one behind those of the one before:
/// byte k of pixel p lies at (k / kTileBytes * kTilePixels + p) * kTileBytes + k % kTileBytes.
constexpr int64_t kTilePixels = 14, kTileBytes = 64;
/// A panel holds the weights of kPanelMaps maps, kPanelDepth bytes of each together: k /
/// kPanelDepth, map, k % kPanelDepth.
constexpr int64_t kPanelMaps = 32, kPanelDepth = 4;

/// A second step, as QuantizedSum says, from a byte without its zero point: bytes of the addend, to
/// which `flip` is done, and which lie as the results do.
struct ByteSum {
  const uint8_t* addend;
  uint8_t flip;
  int32_t addend_zero;
  float product_scale, addend_scale, scale, low, high;
  int32_t zero;
};
/// What becomes of the sums of a panel's maps: sum + add, wrapped; then, for floats and bytes,
/// times scale, plus shift; then, for bytes, rounded as rounded() does within [low, high], plus
/// zero. Zero is a value of the bytes' type, and low and high are that type's bounds less zero,
/// here and in the second step. The lists have an element for each map.
struct ByteResult {
  enum class To : uint8_t { kInteger, kFloat, kByte } to;
  const int32_t* add;
  const float *scale, *shift;
  float low, high;
  int32_t zero;
  const ByteSum* sum;  // of bytes; null: none
};

struct ByteProductKernels {
  /// Results of `pixels` of a tile and of the first `maps` of a panel, both of `depth` bytes,
  /// filled up to a multiple of kPanelDepth. Pixels of `out` lie `out_step` elements apart.
  void (*product)(const uint8_t* tile, int64_t pixels, const int8_t* panel, int64_t depth,
                  const ByteResult& result, int64_t maps, void* out, int64_t out_step);
  /// Copies n bytes, exclusive-or `flip`, into a tile, from byte `at` of a pixel on. Bytes of the
  /// pixel behind them may change.
  void (*place)(const uint8_t* from, int64_t n, uint8_t flip, uint8_t* tile, int64_t pixel,
                int64_t at);
  /// Rows of n bytes, at most kTileBytes, that lie `step` bytes apart: exclusive-or `flip`, into a
  /// tile, from byte 0 of a pixel on. Bytes behind them, and of the pixels behind, may change.
  void (*place_rows)(const uint8_t* from, int64_t step, int64_t rows, int64_t n, uint8_t flip,
                     uint8_t* tile, int64_t pixel);
  /// Sets n bytes; those behind them may change.
  void (*fill)(uint8_t value, int64_t n, uint8_t* tile, int64_t pixel, int64_t at);
};

/// Those of this processor; null where it has no AVX-512 VNNI.
const ByteProductKernels* byte_product_kernels();

namespace avx512 {
extern const ByteProductKernels kByteProducts;
}

}  // namespace tenon::cpu
