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
