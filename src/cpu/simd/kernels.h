// Loops over floats, compiled once for each instruction set and picked at the first call.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::cpu {

/// One step of a pointwise program for n elements; `b` only for binary ones. `out` may be `a` or
/// `b`.
using StepFunction = void (*)(const float* a, const float* b, float* out, int64_t n, float alpha,
                              float beta);

/// Columns of a panel of SimdKernels::add_product.
constexpr int64_t kProductPanel = 16;

/// Elements that SimdKernels::correlate may read behind a row.
constexpr int64_t kCorrelateSlack = 128;

/// Locality of a prefetch that leaves data out of the L1 cache.
constexpr int kPrefetchL2 = 2;

/// What will be read soon: weights, mostly.
struct NextRead {
  const float* first;
  int64_t count;
};

/// The positive interpolation points of Winograd's convolution in tiles of N x N elements; the
/// others are the negative ones, 0 and infinity. Those of N = 6 make the error that of a direct
/// convolution, four times less than the usual 1 and 2 do; that of N = 8 is five times larger.
template <int N> inline constexpr double kWinogradPoints[N / 2 - 1] = {1};
template <> inline constexpr double kWinogradPoints<6>[2] = {0.75, 1.5};
template <> inline constexpr double kWinogradPoints<8>[3] = {0.5, 1, 2};

/// Loops of Winograd's convolution. Channels come in blocks of `lanes`; a tile is N x N elements of
/// a channel, and gives, for windows of W x W, (N - W + 1) x (N - W + 1) results. What is
/// transformed lies in N * N planes.
struct WinogradKernels {
  int lanes;     // of Layout::kBlocked8 or kBlocked16
  int max_sums;  // tiles times vectors of output channels that `product` takes
  /// m[vector * m_step + tile * lanes + i] = sum over k < depth of u[k][vector][i] * v, of which
  /// `lanes` channels lie together for each tile: v[k / lanes][tile][k % lanes]. What is multiplied
  /// next is prefetched into the L2 cache meanwhile.
  void (*product)(const float* v, const float* u, int64_t depth, const NextRead& next, int tiles,
                  int vectors, float* m, int64_t m_step);
  /// out[i * lanes + lane] = rows[lane][i] of i < n, which is a multiple of lanes.
  void (*interleave)(const float* const* rows, int64_t n, float* out);
  struct Tile {
    int size, window;  // N, W
    /// A tile of one block of channels, whose rows lie row_step apart, into planes[N * N] behind v;
    /// of every element of a row, or of every other.
    void (*input[2])(const float* in, int64_t row_step, float* v, const int64_t* planes);
    /// The results of a tile, whose planes lie plane_step apart: the bias added, and kept within
    /// `lower` and `upper`.
    void (*output)(const float* m, int64_t plane_step, const float* bias, float lower, float upper,
                   float* out, int64_t row_step);
  } tiles[4];
};

/// How the windows of a depthwise convolution lie over an image.
struct DepthwiseForm {
  struct Axis {
    int64_t data, taps, stride, dilation, pre;  // elements of the data, taps of a window, ...
  } y, x;
  int64_t pixels;      // results in a row
  int64_t step;        // floats from an element to the next in its row, of data and result
  float lower, upper;  // of a result
};

/// Loops of depthwise convolution, over vectors of `lanes` channels.
struct DepthwiseKernels {
  int lanes;  // of Layout::kBlocked8 or kBlocked16
  /// Rows [first, first + rows) of the results of so many vectors, which lie side by side in `in`
  /// and, from row `first` on, in `out`: bias and the sums of the products. `weights` and `bias`
  /// are those of the first vector: vector, tap, lane.
  void (*run)(const DepthwiseForm& form, const float* in, const float* weights, const float* bias,
              int64_t vectors, int64_t first, int64_t rows, float* out);
};

/// How windows lie over data, and what becomes of their sums.
struct DirectForm {
  const int64_t* offsets;  // of the elements under a window, from its first
  int64_t depth;           // elements under a window
  int64_t step;        // floats from a window to the next: fastest are 1 or 2, or as many vectors
  int64_t out_step;    // floats of the result from a vector of output channels to the next
  int64_t out_pixel;   // and from a pixel to the next
  float lower, upper;  // of a result
  /// What is added to the results from `result` on; null for nothing.
  const float *addend = nullptr, *result = nullptr;
};

/// Neighbouring results: windows of one or two rows.
struct DirectPixels {
  int64_t count;         // in each row
  int64_t rows = 1;      // two where they are short: DirectKernels::short_row
  int64_t row_step = 0;  // floats of the data from a row to the next
  /// Whether the data may be in no cache yet. Steps of one or two vectors are prefetched then, as
  /// the elements of a vector lie side by side.
  bool is_far = false;
};

/// Loops of direct convolution, over vectors of `lanes` output channels.
struct DirectKernels {
  int lanes;          // of Layout::kBlocked8 or kBlocked16
  int64_t short_row;  // the most pixels of a row of two
  /// Neighbouring results of so many vectors: bias, the sums of the products, and what the form
  /// adds. Weights of the elements under a window lie `width` floats apart, those of the vectors
  /// beside each other. What is multiplied next is prefetched into the L2 cache meanwhile.
  void (*run)(const DirectForm& form, const float* in, const float* weights, int64_t width,
              const NextRead& next, const float* bias, int64_t vectors, const DirectPixels& pixels,
              float* out);
  int64_t max_panel_rows;  // the most rows of a panel of rows
  /// The same of a panel of rows, which are packed: element / lanes, row, element % lanes. The form
  /// tells nothing of the data but their depth. One or two vectors.
  void (*run_packed)(const DirectForm& form, const float* rows_panel, int64_t rows,
                     const float* weights, int64_t width, const NextRead& next, const float* bias,
                     int64_t vectors, float* out);
};

/// How windows lie over data in blocks of `DotKernels::lanes` channels.
struct DotForm {
  const int64_t* offsets;  // of the vectors under a window, from its first
  int64_t taps;            // vectors under a window
  int64_t step;            // floats from a window to the next
  int64_t out_step;        // floats of the result from an output channel to the next
  float lower, upper;      // of a result
};

/// Loops of convolution with few output channels: vectors of channels are multiplied, and their
/// lanes summed.
struct DotKernels {
  int lanes;                // of Layout::kBlocked8 or kBlocked16
  int64_t output_channels;  // whose weights lie together
  int64_t pixels;           // of a block
  /// Neighbouring results, one after the other: bias and the sums of the products. Weights: group
  /// of `output channels` output channels, of which the last may have fewer, tap, output channel,
  /// lane. Reads the windows of whole blocks.
  void (*run)(const DotForm& form, const float* in, const float* weights, const float* bias,
              int64_t output_channels, int64_t pixels, float* out);
};

/// Rows of weights that share scale and zero point: bytes, or nibbles, of which a byte holds a row
/// and, above it, the next one.
struct QuantizedGroup {
  const uint8_t* packed;
  const float *scale, *zero;  // of each output channel
  int64_t rows;
};
/// The most rows of data of SimdKernels::multiply_bytes.
constexpr int64_t kFewRows = 4;

struct SimdKernels {
  const char* instruction_set;
  /// By UnaryOperation, ActivationType and ElementWiseOperation; null where there is no fast form.
  StepFunction unary[25], activation[14], element_wise[14];
  /// Two steps in one: x * sigmoid(x), x * hard_sigmoid(x), and a sum within [alpha, beta].
  StepFunction silu, hard_swish, clipped_sum;
  /// Adds masks of n elements to scores: -infinity, or where not `seen`, whatever the score is.
  /// Whether anything else is left.
  bool (*add_mask)(const float* mask, float* scores, int64_t n);
  bool (*hide_masked)(const bool* seen, float* scores, int64_t n);
  /// Softmax of n > 0 adjacent elements.
  void (*softmax)(const float* in, float* out, int64_t n);
  /// Sum of n elements.
  float (*sum)(const float* in, int64_t n);
  /// c[r][j] += sum over k of a[r][k] * b[k][j]. Rows of `a` and `c` lie `a_step` and `c_step`
  /// apart. `packed` holds b in panels of kProductPanel columns, the last filled up: panel, k,
  /// column. The order of the sums depends on nothing but k.
  void (*add_product)(const float* a, int64_t a_step, int64_t rows, const float* packed,
                      int64_t depth, float* c, int64_t c_step, int64_t columns);
  int64_t product_columns;  // whose panels add_product() multiplies together
  /// Of n elements, by ReduceOperation; the average's is the sum.
  float (*reduce[5])(const float* in, int64_t n);
  /// totals[i] = totals[i] combined with in[i], by ReduceOperation.
  void (*fold[5])(float* totals, const float* in, int64_t n);
  /// out[r * n + i] = the largest of (in + r * step + offsets[t])[i] of t < taps, or a NaN among
  /// them, of so many `results` r; taps > 0.
  void (*maxima)(const float* in, const int64_t* offsets, int64_t taps, int64_t results,
                 int64_t step, int64_t n, float* out);
  /// out[i] = sum over t < taps of weights[t * n + i] * in[positions[t * n + i]].
  void (*gather_taps)(const float* in, const int32_t* positions, const float* weights, int64_t taps,
                      int64_t n, float* out);
  /// out[i] = sum over t < taps of weights[t] * (in + offsets[t])[i].
  void (*mix_rows)(const float* in, const int64_t* offsets, const float* weights, int64_t taps,
                   int64_t n, float* out);
  /// out[r * out_step + i] += sum over t < taps of weights[r * weights_step + t] *
  /// (in + offsets[t])[i], of `results` rows r. Reads up to kCorrelateSlack elements behind the
  /// last i.
  void (*correlate)(const float* in, const int64_t* offsets, const float* weights,
                    int64_t weights_step, int64_t taps, int64_t results, float* out,
                    int64_t out_step, int64_t n);
  /// out[i] = in[positions[i]].
  void (*pick)(const uint32_t* in, const int32_t* positions, int64_t n, uint32_t* out);
  /// An 8 x 8 tile, turned: out[i * out_step + j] = in[j * in_step + i].
  void (*turn)(const uint32_t* in, int64_t in_step, uint32_t* out, int64_t out_step);
  /// The same of 16 x 16 bytes.
  void (*turn_bytes)(const uint8_t* in, int64_t in_step, uint8_t* out, int64_t out_step);
  /// out[i] = (in[i] - mean) / sqrt(variance + epsilon) * scale[i * step] + bias[i * step], of n >
  /// 0 elements and a step of 0 or 1; unless `subtracts_mean`, the mean counts as 0.
  void (*normalize)(const float* in, const float* scale, const float* bias, int64_t step,
                    float epsilon, bool subtracts_mean, float* out, int64_t n);
  /// Between the 16-bit floats and float, n elements.
  void (*half_to_float)(const uint16_t* in, float* out, int64_t n);
  void (*float_to_half)(const float* in, uint16_t* out, int64_t n);
  void (*bfloat_to_float)(const uint16_t* in, float* out, int64_t n);
  void (*float_to_bfloat)(const float* in, uint16_t* out, int64_t n);
  void (*int_to_float)(const int32_t* in, float* out, int64_t n);
  void (*signed_bytes_to_float)(const uint8_t* in, float* out, int64_t n);
  void (*unsigned_bytes_to_float)(const uint8_t* in, float* out, int64_t n);
  /// out[i] = table[in[i]], of n elements; `table` has 256.
  void (*look_up_bytes)(const uint8_t* table, const uint8_t* in, uint8_t* out, int64_t n);
  /// out[r * width + i] = (packed[r * width + i] - zero[i]) * scale[i]; `width` is a multiple of
  /// `direct.lanes`.
  void (*dequantize_bytes)(const QuantizedGroup& group, int64_t width, float* out);
  void (*dequantize_nibbles)(const QuantizedGroup& group, int64_t width, float* out);
  /// sums[r * width + i] += the sum over k of x[r * x_step + k] * (packed[k * width + i] -
  /// zero[i]), times scale[i], of up to kFewRows rows r and a width of one or two vectors of
  /// `direct.lanes`.
  void (*multiply_bytes)(const QuantizedGroup& group, const float* x, int64_t x_step, int64_t rows,
                         int64_t vectors, float* sums);
  void (*multiply_nibbles)(const QuantizedGroup& group, const float* x, int64_t x_step,
                           int64_t rows, int64_t vectors, float* sums);
  /// out[i] = in[i] rounded as rounded() does, within [low, high], plus `zero`; n elements.
  void (*round_to_bytes)(const float* in, float low, float high, int32_t zero, uint8_t* out,
                         int64_t n);
  /// out[i * 3 + c] = (in + c * step)[i] of three rows of n bytes that lie so far apart.
  void (*interleave_three)(const uint8_t* in, int64_t step, int64_t n, uint8_t* out);
  WinogradKernels winograd;
  DepthwiseKernels depthwise;
  DirectKernels direct;
  DotKernels dot;
  /// Multiply-adds of registers, which measure_peaks() times; the result means nothing.
  struct {
    int64_t operations_per_round;
    float (*run)(int64_t rounds);
  } multiply_add;
};

/// Those that this processor runs, the best last.
std::vector<const SimdKernels*> supported_simd_kernels();
const SimdKernels& simd_kernels();  // the best

namespace baseline {
extern const SimdKernels kKernels;
}
namespace avx2 {
extern const SimdKernels kKernels;
}
namespace avx512 {
extern const SimdKernels kKernels;
}

}  // namespace tenon::cpu
