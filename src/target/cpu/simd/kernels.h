// Loops over floats, compiled once for each instruction set and picked when the library starts.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// One step of a pointwise program for n elements; `b` only for binary ones. `out` may be `a` or
/// `b`.
using StepFunction = void (*)(const float* a, const float* b, float* out, int64_t n, float alpha,
                              float beta);

/// Columns of a panel of SimdKernels::add_product.
constexpr int64_t kProductPanel = 16;

/// Elements that SimdKernels::correlate may read behind a row.
constexpr int64_t kCorrelateSlack = 128;

struct SimdKernels {
  const char* instruction_set;
  /// By UnaryOperation, ActivationType and ElementWiseOperation; null where there is no fast form.
  StepFunction unary[25], activation[14], element_wise[14];
  /// Softmax of n > 0 adjacent elements.
  void (*softmax)(const float* in, float* out, int64_t n);
  /// Sum of n elements.
  float (*sum)(const float* in, int64_t n);
  /// c[r][j] += sum over k of a[r][k] * b[k][j]. Rows of `a` and `c` lie `a_step` and `c_step`
  /// apart. `packed` holds b in panels of kProductPanel columns, the last filled up: panel, k,
  /// column. The order of the sums depends on nothing but k.
  void (*add_product)(const float* a, int64_t a_step, int64_t rows, const float* packed,
                      int64_t depth, float* c, int64_t c_step, int64_t columns);
  /// Of n elements, by ReduceOperation; the average's is the sum.
  float (*reduce[5])(const float* in, int64_t n);
  /// totals[i] = totals[i] combined with in[i], by ReduceOperation.
  void (*fold[5])(float* totals, const float* in, int64_t n);
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
  /// out[i] = (in[i] - mean) / sqrt(variance + epsilon) * scale[i * step] + bias[i * step], of n >
  /// 0 elements and a step of 0 or 1; unless `subtracts_mean`, the mean counts as 0.
  void (*normalize)(const float* in, const float* scale, const float* bias, int64_t step,
                    float epsilon, bool subtracts_mean, float* out, int64_t n);
  /// Between the 16-bit floats and float, n elements.
  void (*half_to_float)(const uint16_t* in, float* out, int64_t n);
  void (*float_to_half)(const float* in, uint16_t* out, int64_t n);
  void (*bfloat_to_float)(const uint16_t* in, float* out, int64_t n);
  void (*float_to_bfloat)(const float* in, uint16_t* out, int64_t n);
};

/// The best ones that this processor runs.
const SimdKernels& simd_kernels();

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
