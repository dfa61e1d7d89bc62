// The online softmax of FlashAttention-2 (Dao 2023) over sums as mma.sync and wgmma leave them: a
// lane has elements of two of the sixteen rows of its warp, `lane / 4` and eight more.
#pragma once

#include <cfloat>

#include "cuda/attention.cuh"

namespace tenon::cuda {

constexpr float kLog2E = 1.4426950408889634f;

template <class T> __device__ uint32_t pack(float low, float high) {
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&both);
  } else {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&both);
  }
}

__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Of sixteen queries: scores of kKeys keys at a time become shares, which are still to be divided
/// by their total; `result` is what the shares so far make of the values.
template <class T, int kSize, int kKeys> class OnlineSoftmax {
 public:
  using Scores = float[kKeys / 8][4];
  float result[kSize / 8][4] = {};

  __device__ OnlineSoftmax(const AttentionParameters& p, int64_t batch, int head, int first_row)
      : p_(p), row_(first_row + lane() / 4) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int own = min(row_of(half), p.queries - 1);
      range_[half] = visible(p, batch, own);
      mask_[half] = mask_row(p, batch, head, own);
    }
  }

  /// `count`: of keys from `start` on, in steps of 16; products of others were not computed.
  __device__ void take_shares(Scores& score, int start, int count, bool all_seen) {
    // Where nothing else changes scores, they are scaled on their way into the power.
    const float factor = p_.scale * kLog2E;
    const bool is_plain = all_seen && p_.softcap <= 0 && factor >= 0;
    if (!is_plain) change(score, start, count, all_seen, factor);
    const float by = is_plain ? factor : 1;
    float row_max[2] = {-INFINITY, -INFINITY}, base[2], kept[2];
    each(score, count, [&](float& x, int, int half) { row_max[half] = fmaxf(row_max[half], x); });
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // Four lanes have a row.
      row_max[half] = fmaxf(row_max[half], __shfl_xor_sync(0xffffffffu, row_max[half], 1));
      row_max[half] = fmaxf(row_max[half], __shfl_xor_sync(0xffffffffu, row_max[half], 2));
      row_max[half] = fmaxf(largest_[half], row_max[half] * by);
      base[half] = row_max[half] == -INFINITY ? 0.f : row_max[half];
      kept[half] = power_of_two(largest_[half] - base[half]);
      largest_[half] = row_max[half];
      total_[half] *= kept[half];
    }
    each(score, count, [&](float& x, int, int half) {
      x = power_of_two(fmaf(x, by, -base[half]));
      total_[half] += x;
    });
#pragma unroll
    for (auto& four : result)
#pragma unroll
      for (int i = 0; i < 4; ++i) four[i] *= kept[i / 2];
  }

  /// Shares of sixteen keys as the first operand of a product.
  __device__ static void pack_shares(const Scores& score, int sixteen, uint32_t (&a)[4]) {
    const auto &low = score[2 * sixteen], &high = score[2 * sixteen + 1];
    a[0] = pack<T>(low[0], low[1]);
    a[1] = pack<T>(low[2], low[3]);
    a[2] = pack<T>(high[0], high[1]);
    a[3] = pack<T>(high[2], high[3]);
  }

  /// The result's numbers are multiplied by it at last.
  __device__ float factor(int half) const {
    float sum = total_[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    return sum == 0 ? 0.f : 1 / sum;
  }
  __device__ int row_of(int half) const { return row_ + 8 * half; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

 private:
  // Calls body(score, key, half) for all of the lane's scores. What is the same for all of them is
  // asked outside, once, so that the loop has no branches.
  template <class Body> __device__ static void each(Scores& score, int count, const Body& body) {
    const auto part = [&](int j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) body(score[j][i], j * 8 + lane() % 4 * 2 + i % 2, i / 2);
    };
    if (count == kKeys) {
#pragma unroll
      for (int j = 0; j < kKeys / 8; ++j) part(j);
    } else {
#pragma unroll
      for (int j = 0; j < kKeys / 8; ++j)
        if (j / 2 * 16 < count) part(j);
    }
  }

  // Scores are scaled and capped, and those of keys that are not seen become -infinity.
  __device__ void change(Scores& score, int start, int count, bool all_seen, float factor) const {
    if (p_.softcap > 0)
      each(score, count, [&](float& x, int, int) { x = capped(x * factor); });
    else
      each(score, count, [&](float& x, int, int) { x *= factor; });
    if (!all_seen)
      each(score, count, [&](float& x, int key, int half) {
        const int k = start + key;
        x = k >= range_[half].first && k < range_[half].end ? x : -INFINITY;
      });
    if (p_.mask != nullptr)
      each(score, count, [&](float& x, int key, int half) {
        if (x != -INFINITY) x = with_mask(x, mask_[half], start + key);
      });
  }
  // softcap * tanh(x / softcap), of numbers times log2(e).
  __device__ float capped(float x) const {
    const float power = power_of_two(__fdividef(2 * x, p_.softcap));
    return p_.softcap * kLog2E * (1 - __fdividef(2.f, 1 + power));
  }
  __device__ float with_mask(float x, int64_t mask_row, int key) const {
    const float added = masked<T>(p_, mask_row, key);
    // The least number that may stand for -infinity stays a number, times log2(e).
    return added == -INFINITY ? -INFINITY : fmaxf(x + added * kLog2E, -FLT_MAX);
  }

  const AttentionParameters& p_;
  int row_;
  float largest_[2] = {-INFINITY, -INFINITY}, total_[2] = {};
  Visible range_[2];
  int64_t mask_[2];
};

}  // namespace tenon::cuda
