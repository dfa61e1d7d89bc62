// Products of bytes that are summed in 32 bits, exactly: what a convolution of 8-bit integers is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::cpu {

/// Elements are multiplied as the instruction set wants them, in one byte or two, and come in dot
/// groups of as many elements as it has.
constexpr int64_t kDotGroupBytes = 4;

/// Windows over elements without sign, one for each pixel of the result: rows of pixels, whose
/// windows begin row_step and pixel_step bytes apart. The elements under a window are runs that
/// begin run_step bytes apart, `steps` dot groups of each.
struct ByteWindows {
  const uint8_t* first;
  int64_t rows, pixels, row_step, pixel_step, runs, run_step, steps;
};
/// Where products complement elements, the dot groups of a run come in groups: those of which no
/// elements are complemented, those of which some are for output channels of the first half of a
/// panel, of the second, and of both.
constexpr int64_t kByteGroups = 4;
/// A panel of weights: a dot group of each output channel together, for run after run. Products
/// that complement sum neighbouring ones, of elements 0 and 1 or 2 and 3 of a dot group, in 16
/// bits, which holds where the pair's positive weights and its negative ones each come to 128 at
/// most. Of other pairs an element is complemented, 255 less the byte, and its weight negated:
/// behind the weights of such a dot group lie the bytes of its data's exclusive-or, for the halves
/// that have any.
struct BytePanel {
  const int8_t* weights;
  int64_t bytes;  // and as many more will be wanted next
  /// Of products that complement, for each run: how many dot groups each group has, then where each
  /// lies in the run; else null.
  const int32_t* order;
};
/// Where results lie, in elements.
struct ByteResultSteps {
  int64_t row, pixel;
};

/// How numbers become bytes: as rounded() does within [low, high], plus zero. All three with zero
/// are of the bytes' type.
struct ByteRounding {
  float low, high;
  int32_t zero;
  bool is_signed;
};

/// Some channels of some pixels; steps are from a pixel to the next, `to_step` of what is made of
/// them.
template <class T> struct PixelRow {
  const T* first;
  int64_t pixels, channels, step, to_step;
};
/// How bytes become numbers: ((byte ^ flip) - zero) * scale.
struct ByteScale {
  uint8_t flip;
  float zero, scale;
};

/// A second step, as QuantizedSum says, from a byte without its zero point: bytes of the addend, to
/// which `flip` is done, and which lie as the results do.
struct ByteSum {
  const uint8_t* addend;
  uint8_t flip;
  int32_t addend_zero;
  float product_scale, addend_scale, scale;
  ByteRounding rounding;
  /// Product * fast_product + (byte * fast_addend + fast_shift), each sum rounded once, in place
  /// of what the scales say; only where `is_fast`.
  bool is_fast;
  float fast_product, fast_addend, fast_shift;
};
/// What becomes of the sums of a panel's output channels: sum + add, wrapped; then, for floats and
/// bytes, times scale, plus shift; then, for bytes, rounded. The lists have an element for each
/// output channel.
struct ByteResult {
  enum class To : uint8_t { kInteger, kFloat, kByte } to;
  const int32_t* add;
  const float *scale, *shift;
  ByteRounding rounding;  // of bytes
  const ByteSum* sum;     // of bytes; null: none
};

/// The windows of a row of pixels, of channels that are summed apart. A window is `groups` groups
/// of taps, `step` behind those of the pixel before, so that neighbours may share some. A tap is
/// the address from which a pixel's channels lie, exclusive-or `flip`; a panel begins with
/// `channel`. Taps that fill a group up have an address, too.
struct ByteTaps {
  const uint8_t* const* data;
  int64_t pixels, groups, step, channel;
  uint8_t flip;
  const int8_t* weights;  // of the panel
};
/// Depthwise sums. A panel is the weights of its channels, group by group.
struct ByteDepthwise {
  int64_t panel_channels;
  int64_t taps;           // of a group, which are multiplied at once
  int64_t element_bytes;  // of weights
  /// Where the weights of a channel lie among those of a group, for a panel of so many channels.
  int64_t (*place)(int64_t channel, int64_t channels);
  /// Results of so many channels of a panel, whose pixels lie so many elements apart.
  void (*sum)(const ByteTaps& taps, const ByteResult& result, int64_t channels, void* out,
              int64_t pixel_step);
};

/// Where the results of a tile lie, in elements, and how many of them are wanted.
struct ByteTile {
  int64_t out;
  int64_t rows, columns;
};
/// Winograd's filtering with windows of 3x3 in integers: a square of `tile` results an axis takes
/// `size` elements of the data an axis, whose transform are 16-bit integers, a plane for each
/// element. A plane's product of data and weights is one of `product`, and so `size` squared
/// products stand for nine times `tile` squared. Sums wrap on the way, and are exact where those of
/// the windows, times 2 to the power of `lost_bits`, fit 32 bits.
struct ByteWinograd {
  int64_t tile, size;
  int lost_bits;
  /// Channels of the data come in multiples of so many.
  int64_t channels;
  /// Of the weights' transform, size x 3: it is applied along each axis.
  const int8_t* weights;
  /// Of the elements of a tile, which begin at elements[row * size + column]: so many channels,
  /// exclusive-or `flip`. Planes lie so many integers apart.
  void (*transform)(const uint8_t* const* elements, int64_t channels, uint8_t flip, int16_t* to,
                    int64_t plane);
  /// From sums of a panel's output channels: plane, tile, output channel; planes lie so many sums
  /// apart.
  void (*results)(const int32_t* sums, int64_t plane, std::span<const ByteTile> tiles,
                  const ByteResult& result, int64_t output_channels, void* out,
                  ByteResultSteps out_steps);
};

struct ByteProductKernels {
  int64_t element_bytes;  // of weights and copied data
  /// Output channels of a panel, which holds their weights, a dot group of each together: run of a
  /// window, dot group, output channel, element. Elements that fill a run up are 0.
  int64_t panel_channels;
  /// Pixels that are computed together. What lies behind a row is read as if they were always as
  /// many, and a run as if its dot groups were full.
  int64_t segment;
  /// Results of the first `output channels` of a panel.
  void (*product)(const ByteWindows& windows, const BytePanel& panel, const ByteResult& result,
                  int64_t output_channels, void* out, ByteResultSteps out_steps);
  /// Makes elements of n bytes, exclusive-or `flip`, or of n times the same byte.
  void (*copy)(const uint8_t* from, int64_t n, uint8_t flip, void* to);
  void (*fill)(uint8_t value, int64_t n, void* to);
  /// Whether the fast steps give every byte that the sum can have.
  bool (*is_fast)(const ByteSum& sum);
  /// Of weights of element_bytes, or of more.
  ByteDepthwise depthwise;
  /// Numbers, divided by the scale, as bytes.
  void (*round)(const PixelRow<float>& numbers, float scale, const ByteRounding& rounding,
                uint8_t* to);
  /// Bytes as numbers.
  void (*dequantize)(const PixelRow<uint8_t>& bytes, const ByteScale& scale, float* to);
  /// Forms of Winograd's filtering for these products; int8 products have none.
  std::span<const ByteWinograd> winograd = {};
  /// Those of weights of int8, in one byte, null in themselves. Where these complement, they are
  /// faster if most dot groups are complemented for no output channel; else always.
  const ByteProductKernels* int8 = nullptr;
  /// Whether the panels of int8 products complement elements.
  bool complements = false;
  /// What timings depend on besides the processor's vectors.
  const char* timing_id = "";

  int64_t dot_group() const { return kDotGroupBytes / element_bytes; }  // elements
};

/// Those that this processor runs, the best last: AVX2's, AVX-512 VNNI's and AMX's. Those that
/// saturate are not among them.
std::vector<const ByteProductKernels*> supported_byte_product_kernels();
/// The best of them; null where there are none.
const ByteProductKernels* byte_product_kernels();

/// Finds fast steps that give every byte that the sum can have, if there are any.
void find_fast(const ByteProductKernels& kernels, ByteSum& sum);

namespace avx2 {
extern const ByteProductKernels kByteProducts, kInt8ByteProducts;
extern const ByteWinograd kByteWinograd[2];
}  // namespace avx2
namespace avx512 {
extern const ByteProductKernels kByteProducts, kInt8ByteProducts;
extern const ByteWinograd kByteWinograd[2];
/// The pixels of a tile, and kInt8ByteProducts' product with AMX.
constexpr int64_t kTilePixels = 16;
void product_by_tiles(const ByteWindows& windows, const BytePanel& panel, const ByteResult& result,
                      int64_t output_channels, void* out, ByteResultSteps out_steps);
}  // namespace avx512

}  // namespace tenon::cpu
