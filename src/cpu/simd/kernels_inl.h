// The loops themselves; TENON_SIMD_NAMESPACE names the instruction set.
#include "cpu/simd/correlate.h"
#include "cpu/simd/depthwise.h"
#include "cpu/simd/dequantize.h"
#include "cpu/simd/direct.h"
#include "cpu/simd/dot.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/multiply_add.h"
#include "cpu/simd/product.h"
#include "cpu/simd/rows_inl.h"
#include "cpu/simd/winograd.h"
#include "tenon/kernels/vector_math.h"

namespace tenon::cpu {

using namespace kernels;  // NOLINT: the elementary functions

namespace {

constexpr float kNaN = __builtin_nanf("");
constexpr float kSqrtHalf = 0.707106781f;
constexpr float kSqrtTwoOverPi = 0.797884561f;

#define TENON_STEP(name, expression)                                                          \
  void name(const float* a, const float* b, float* out, int64_t n, float alpha, float beta) { \
    TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) {                                       \
      [[maybe_unused]] const float x = a[i];                                                  \
      out[i] = expression;                                                                    \
    }                                                                                         \
  }
#define TENON_STEP2(name, expression)                                                         \
  void name(const float* a, const float* b, float* out, int64_t n, float alpha, float beta) { \
    TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) {                                       \
      const float x = a[i], y = b[i];                                                         \
      out[i] = expression;                                                                    \
    }                                                                                         \
  }

inline float clipped(float x, float low, float high) {
  const float y = x > high ? high : x;
  return y < low ? low : y;
}

TENON_STEP(exp_step, fast_exp(x))
TENON_STEP(log_step, fast_log(x))
TENON_STEP(ceil_step, __builtin_ceilf(x))
TENON_STEP(floor_step, __builtin_floorf(x))
TENON_STEP(round_step, __builtin_rintf(x))
TENON_STEP(sqrt_step, __builtin_sqrtf(x))
TENON_STEP(recip_step, 1.f / x)
TENON_STEP(abs_step, absolute(x))
TENON_STEP(neg_step, -x)
TENON_STEP(erf_step, fast_erf(x))
TENON_STEP(not_step, x == 0 ? 1.f : 0.f)
TENON_STEP(sign_step, x > 0 ? 1.f : x < 0 ? -1.f : x == x ? 0.f : x)

TENON_STEP(relu_step, x < 0 ? 0.f : x)
TENON_STEP(sigmoid_step, fast_sigmoid(x))
TENON_STEP(tanh_step, fast_tanh(x))
TENON_STEP(leaky_relu_step, x < 0 ? alpha * x : x)
TENON_STEP(elu_step, x < 0 ? alpha * fast_expm1(x < 0 ? x : 0) : x)
TENON_STEP(selu_step, x > 0 ? beta * x : beta * alpha * fast_expm1(x > 0 ? 0 : x))
TENON_STEP(softsign_step, x / (1 + absolute(x)))
TENON_STEP(softplus_step,
           alpha*((beta * x < 0 ? 0 : beta * x) + fast_log1p_unit(fast_exp(-absolute(beta * x)))))
TENON_STEP(hard_sigmoid_step, clipped(alpha* x + beta, 0, 1))
TENON_STEP(scaled_tanh_step, alpha* fast_tanh(beta* x))
TENON_STEP(thresholded_relu_step, x <= alpha ? 0.f : x)
TENON_STEP(gelu_erf_step, 0.5f * x * fast_one_plus_erf(x * kSqrtHalf))
TENON_STEP(gelu_tanh_step, 0.5f * x * (1 + fast_tanh(kSqrtTwoOverPi * (x + 0.044715f * x * x * x))))

TENON_STEP(clip_step, clipped(x, alpha, beta))

TENON_STEP(silu_step, fast_silu(x))
TENON_STEP(hard_swish_step, x* clipped(alpha* x + beta, 0, 1))

TENON_STEP2(sum_step, x + y)
TENON_STEP2(clipped_sum_step, clipped(x + y, alpha, beta))
TENON_STEP2(prod_step, x* y)
TENON_STEP2(max_step, x != x ? x : x > y ? x : y)
TENON_STEP2(min_step, x != x ? x : x < y ? x : y)
TENON_STEP2(sub_step, x - y)
TENON_STEP2(div_step, x / y)
TENON_STEP2(any_pow_step, __builtin_powf(x, y))
// Squares are what most powers are.
void pow_step(const float* a, const float* b, float* out, int64_t n, float alpha, float beta) {
  int32_t others = 0;
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) others |= int32_t{b[i] != 2.f};
  (others == 0 ? prod_step : any_pow_step)(a, others == 0 ? a : b, out, n, alpha, beta);
}
TENON_STEP2(floor_div_step, __builtin_floorf(x / y))
TENON_STEP2(and_step, int{x != 0} & int{y != 0} ? 1.f : 0.f)
TENON_STEP2(or_step, int{x != 0} | int{y != 0} ? 1.f : 0.f)
TENON_STEP2(xor_step, (x != 0) != (y != 0) ? 1.f : 0.f)
TENON_STEP2(equal_step, x == y ? 1.f : 0.f)
TENON_STEP2(greater_step, x > y ? 1.f : 0.f)
TENON_STEP2(less_step, x < y ? 1.f : 0.f)

// Each lane with the one `Half` lanes away.
template <int Half, int... I>
inline BlockLanes swapped(BlockLanes x, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(x, x, (I ^ Half)...);
}
// Of all lanes, in pairs.
template <int Half = kBlockLanes / 2, class Combine>
inline float reduce_lanes(BlockLanes x, const Combine& combine) {
  x = combine(x, swapped<Half>(x, std::make_integer_sequence<int, kBlockLanes>()));
  if constexpr (Half > 1)
    return reduce_lanes<Half / 2>(x, combine);
  else
    return x[0];
}

// Of rows that are short beside what a call of the loops for long ones takes. A NaN may be left
// out.
inline float maximum_of_row(const float* in, int64_t n) {
  float largest = -__builtin_inff();
  if (n < kBlockLanes) {
    for (int64_t i = 0; i < n; ++i) largest = in[i] > largest ? in[i] : largest;
    return largest;
  }
  const auto larger = [](BlockLanes a, BlockLanes b) { return a > b ? a : b; };
  BlockLanes lanes = load_lanes(in + n - kBlockLanes);
  for (int64_t i = 0; i + kBlockLanes < n; i += kBlockLanes)
    lanes = larger(load_lanes(in + i), lanes);
  return reduce_lanes(lanes, larger);
}
inline float sum_of_row(const float* in, int64_t n) {
  BlockLanes lanes = {}, others = {};
  int64_t i = 0;
  for (; i + 2 * kBlockLanes <= n; i += 2 * kBlockLanes) {
    lanes += load_lanes(in + i);
    others += load_lanes(in + i + kBlockLanes);
  }
  float rest = 0;
  for (; i < n; ++i) rest += in[i];
  return rest + reduce_lanes(lanes + others, [](BlockLanes a, BlockLanes b) { return a + b; });
}

bool add_mask(const float* mask, float* scores, int64_t n) {
  int32_t any = 0;
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
    const bool is_seen = mask[i] != -__builtin_inff();
    any |= int32_t{is_seen};
    scores[i] = is_seen ? scores[i] + mask[i] : -__builtin_inff();
  }
  return any != 0;
}
bool hide_masked(const bool* seen, float* scores, int64_t n) {
  int32_t any = 0;
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
    any |= int32_t{seen[i]};
    scores[i] = seen[i] ? scores[i] : -__builtin_inff();
  }
  return any != 0;
}

void softmax(const float* in, float* out, int64_t n) {
  const float m = maximum_of_row(in, n);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = fast_share(in[i] - m);
  const float scale = 1.f / sum_of_row(out, n);
  for (int64_t i = 0; i < n; ++i) out[i] *= scale;
}

}  // namespace

namespace TENON_SIMD_NAMESPACE {
#define TENON_NAME_OF(x) TENON_NAME_OF2(x)
#define TENON_NAME_OF2(x) #x

extern const SimdKernels kKernels;
const SimdKernels kKernels = {
    TENON_NAME_OF(TENON_SIMD_NAMESPACE),
    {exp_step,   log_step, sqrt_step, recip_step, abs_step,   neg_step, nullptr, nullptr, nullptr,
     nullptr,    nullptr,  nullptr,   nullptr,    nullptr,    nullptr,  nullptr, nullptr, ceil_step,
     floor_step, erf_step, not_step,  sign_step,  round_step, nullptr,  nullptr},
    {relu_step, sigmoid_step, tanh_step, leaky_relu_step, elu_step, selu_step, softsign_step,
     softplus_step, clip_step, hard_sigmoid_step, scaled_tanh_step, thresholded_relu_step,
     gelu_erf_step, gelu_tanh_step},
    {sum_step, prod_step, max_step, min_step, sub_step, div_step, pow_step, floor_div_step,
     and_step, or_step, xor_step, equal_step, greater_step, less_step},
    silu_step,
    hard_swish_step,
    clipped_sum_step,
    add_mask,
    hide_masked,
    softmax,
    sum,
    add_product,
    kBlockPanels* kPanelFloats,
    {sum, product, maximum_of, minimum_of, sum},
    {fold_sum, fold_product, fold_maximum, fold_minimum, fold_sum},
    maxima,
    gather_taps,
    mix_rows,
    correlate,
    pick,
    turn,
    turn_bytes,
    normalize,
    half_to_float,
    float_to_half,
    bfloat_to_float,
    float_to_bfloat,
    int_to_float,
    bytes_to_float<int8_t>,
    bytes_to_float<uint8_t>,
    look_up_bytes,
    dequantize_bytes,
    dequantize_nibbles,
    multiply_quantized<false>,
    multiply_quantized<true>,
    round_to_bytes,
    interleave_three,
    kWinograd,
    kDepthwise,
    kDirect,
    kDot,
    {2 * kChains * kVectorFloats, chains_of_multiply_adds}};

}  // namespace TENON_SIMD_NAMESPACE
}  // namespace tenon::cpu
