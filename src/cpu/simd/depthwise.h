// The loops of depthwise convolution, over channels in blocks of as many as a vector has.
#pragma once

#include <cstdint>
#include <utility>

#include "cpu/simd/block_lanes.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

/// Neighbouring results whose sums the registers hold beside five weights.
constexpr int kMaxPixels = 8;

// P neighbouring results, the first window of which begins at `x`. Where windows have W taps in a
// row and move by S of them, an element is loaded once for all the windows that it is under; W = 0
// stands for any other windows. What is beyond the data counts as 0; kInside promises that nothing
// is, along the row, and kAdjacent that neighbouring elements touch.
template <int P, int W, int S, bool kInside, bool kAdjacent>
void depthwise_pixels(const DepthwiseForm& form, const float* in, const float* weights,
                      const float* bias, int64_t y, int64_t x, float* out) {
  const auto height = static_cast<uint64_t>(form.y.data),
             width = static_cast<uint64_t>(form.x.data);
  const int64_t step = kAdjacent ? kBlockLanes : form.step;
  BlockLanes sum[P];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) sum[p] = load_lanes(bias);
  for (int64_t row = 0; row < form.y.taps; ++row, y += form.y.dilation) {
    if (static_cast<uint64_t>(y) >= height) continue;
    const float* from = in + (y * form.x.data + x) * step;
    const float* row_weights = weights + row * form.x.taps * kBlockLanes;
    if constexpr (W > 0) {
      BlockLanes w[W];
#pragma GCC unroll 8
      for (int t = 0; t < W; ++t) w[t] = load_lanes(row_weights + t * kBlockLanes);
#pragma GCC unroll 32
      for (int i = 0; i < (P - 1) * S + W; ++i, from += step) {
        if (!kInside && static_cast<uint64_t>(x + i) >= width) continue;
        BlockLanes element = load_lanes(from);
        hold(element);
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p)
          if (i >= p * S && i < p * S + W) sum[p] += element * w[i - p * S];
      }
    } else {
      for (int64_t t = 0; t < form.x.taps; ++t) {
        const BlockLanes w = load_lanes(row_weights + t * kBlockLanes);
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p) {
          const int64_t i = p * form.x.stride + t * form.x.dilation;
          if (static_cast<uint64_t>(x + i) < width) sum[p] += load_lanes(from + i * step) * w;
        }
      }
    }
  }
  const BlockLanes lower = BlockLanes{} + form.lower, upper = BlockLanes{} + form.upper;
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p, out += step) {
    const BlockLanes result = sum[p] > upper ? upper : sum[p];
    store_lanes(out, result < lower ? lower : result);
  }
}

using DepthwisePixels = void (*)(const DepthwiseForm&, const float*, const float*, const float*,
                                 int64_t, int64_t, float*);

/// What is read and written, beside the form.
struct DepthwiseTask {
  const float *in, *weights, *bias;
  int64_t vectors, first, rows;
  float* out;
};

// Rows in blocks of nearly the same number of results, each for all vectors: what they read is near
// where vectors lie side by side.
template <int W, int S, bool kAdjacent, int... P>
void depthwise_rows(std::integer_sequence<int, P...>, const DepthwiseForm& form,
                    const DepthwiseTask& task) {
  static constexpr DepthwisePixels blocks[] = {depthwise_pixels<P + 1, W, S, false, kAdjacent>...};
  static constexpr DepthwisePixels inside[] = {depthwise_pixels < P + 1, W, S, W != 0,
                                               kAdjacent > ...};
  const int64_t count = (form.pixels + kMaxPixels - 1) / kMaxPixels;
  const int64_t short_row = form.pixels / count, longer = form.pixels % count;
  const int64_t taps = form.y.taps * form.x.taps;
  float* out = task.out;
  for (int64_t row = task.first; row < task.first + task.rows; ++row) {
    const int64_t y = row * form.y.stride - form.y.pre;
    int64_t x = -form.x.pre;
    for (int64_t b = 0; b < count; ++b) {
      const int64_t n = short_row + (b < longer ? 1 : 0);
      const bool is_inside = x >= 0 && x + (n - 1) * S + W <= form.x.data;
      const DepthwisePixels block = (is_inside ? inside : blocks)[n - 1];
      for (int64_t v = 0; v < task.vectors; ++v) {
        const int64_t lane = v * kBlockLanes;
        block(form, task.in + lane, task.weights + lane * taps, task.bias + lane, y, x, out + lane);
      }
      x += n * form.x.stride;
      out += n * form.step;
    }
  }
}

void depthwise(const DepthwiseForm& form, const float* in, const float* weights, const float* bias,
               int64_t vectors, int64_t first, int64_t rows, float* out) {
  if (form.pixels < 1) return;
  const auto run = [&]<int W, int S> {
    constexpr auto lengths = std::make_integer_sequence<int, kMaxPixels>();
    const DepthwiseTask task = {in, weights, bias, vectors, first, rows, out};
    if (W != 0 && form.step == kBlockLanes)
      depthwise_rows<W, S, W != 0>(lengths, form, task);
    else
      depthwise_rows<W, S, false>(lengths, form, task);
  };
  const auto is = [&](int64_t taps, int64_t stride) {
    return form.x.taps == taps && form.x.stride == stride && form.x.dilation == 1;
  };
  if (is(3, 1)) return run.template operator()<3, 1>();
  if (is(3, 2)) return run.template operator()<3, 2>();
  if (is(5, 1)) return run.template operator()<5, 1>();
  if (is(5, 2)) return run.template operator()<5, 2>();
  run.template operator()<0, 0>();
}

constexpr DepthwiseKernels kDepthwise = {kBlockLanes, depthwise};

}  // namespace
}  // namespace tenon::cpu
