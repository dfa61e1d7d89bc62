// Normalisation of rows that the lanes of a warp share without rest, by parameters that all rows
// share: warps keep these, and load a row while they normalise the one before.
#pragma once

#include <algorithm>

#include "cuda/capability.h"
#include "cuda/elements.cuh"
#include "cuda/groups.cuh"
#include "cuda/normalization.h"

namespace tenon::cuda {
namespace {

/// kPack elements of 16 bits are read at once. `Scale` is the type of scale and bias.
template <class T, class Scale, int kItems, bool kAdds> class WarpOfRows {
  static constexpr int kPack = 16 / sizeof(T), kLanes = 32;
  using Elements = Pack<T, kPack>;
  using Parameters = Pack<Scale, kPack>;
  using Numbers = float[kItems][kPack];

 public:
  static constexpr int kLength = kItems * kLanes * kPack;
  static constexpr int kWarps = 4;  // of a block
  static constexpr int kBlocks =
      sizeof(Scale) == 2 ? 4 : 3;  // whose registers a multiprocessor has

  __device__ explicit WarpOfRows(const NormalizationTask& t)
      : t_(t), lane_(static_cast<int>(threadIdx.x)) {
    load(static_cast<const Parameters*>(t.scale.data), scale_);
    load(static_cast<const Parameters*>(t.bias.data), bias_);
  }

  /// Every `step`-th row from the first on.
  __device__ void run(int64_t first, int64_t step) {
    if (first < t_.rows) load_row(first);
    for (int64_t row = first; row < t_.rows; row += step) {
      Numbers x;
      for_each([&](int i, int k) {
        x[i][k] = to_float(data_[i].values[k]);
        if constexpr (kAdds) x[i][k] += to_float(addend_[i].values[k]);
      });
      if (row + step < t_.rows) load_row(row + step);
      normalize(x);
      store(row, x);
    }
  }

 private:
  template <class Body> __device__ static void for_each(const Body& body) {
#pragma unroll
    for (int i = 0; i < kItems; ++i)
#pragma unroll
      for (int k = 0; k < kPack; ++k) body(i, k);
  }
  template <class Packs> __device__ void load(const Packs* row, Packs (&to)[kItems]) const {
#pragma unroll
    for (int i = 0; i < kItems; ++i) to[i] = row[i * kLanes + lane_];
  }
  __device__ void load_row(int64_t row) {
    const int64_t at = row * (kLength / kPack);
    load(static_cast<const Elements*>(t_.data) + at, data_);
    if constexpr (kAdds) load(static_cast<const Elements*>(t_.addend) + at, addend_);
  }

  __device__ static float mean_of(const Numbers& x) {
    float sums[kItems] = {}, sum = 0;  // chains that do not wait for each other
    for_each([&](int i, int k) { sums[i] += x[i][k]; });
#pragma unroll
    for (const float part : sums) sum += part;
    return warp_sum(sum) * (1.f / kLength);
  }
  __device__ void normalize(Numbers& x) const {
    if (t_.subtracts_mean) {
      const float mean = mean_of(x);
      for_each([&](int i, int k) { x[i][k] -= mean; });
    }
    Numbers squares;
    for_each([&](int i, int k) { squares[i][k] = x[i][k] * x[i][k]; });
    const float inverse = rsqrtf(mean_of(squares) + t_.epsilon);
    for_each([&](int i, int k) {
      x[i][k] =
          fmaf(x[i][k] * inverse, to_float(scale_[i].values[k]), to_float(bias_[i].values[k]));
    });
  }

  __device__ void store(int64_t row, const Numbers& x) const {
    auto* to = static_cast<Elements*>(t_.result) + row * (kLength / kPack) + lane_;
    Elements e[kItems];
    for_each([&](int i, int k) { e[i].values[k] = from_float<T>(x[i][k]); });
#pragma unroll
    for (int i = 0; i < kItems; ++i) to[i * kLanes] = e[i];
    if (t_.bytes.data == nullptr) return;
    const Quantized quantized(t_.bytes.rule);
    if (t_.bytes.rule.is_float8)
      store_bytes(row, e, [&](float number) { return quantized.float8(number); });
    else
      store_bytes(row, e, [&](float number) { return quantized.integer(number); });
  }
  template <class Rule>
  __device__ void store_bytes(int64_t row, const Elements (&e)[kItems], const Rule& rule) const {
    using Bytes = Pack<uint8_t, kPack>;
    auto* to = reinterpret_cast<Bytes*>(t_.bytes.data) + row * (kLength / kPack) + lane_;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      Bytes bytes;
#pragma unroll
      for (int k = 0; k < kPack; ++k) bytes.values[k] = rule(to_float(e[i].values[k]));
      to[i * kLanes] = bytes;
    }
  }

  const NormalizationTask& t_;
  int lane_;
  Parameters scale_[kItems], bias_[kItems];
  Elements data_[kItems], addend_[kAdds ? kItems : 1];  // of the next row
};

template <class Warp>
__global__ void __launch_bounds__(Warp::kWarps * 32, Warp::kBlocks)
    rows_in_turn(const __grid_constant__ NormalizationTask t) {
  Warp(t).run(int64_t{blockIdx.x} * Warp::kWarps + threadIdx.y, int64_t{gridDim.x} * Warp::kWarps);
}

template <class Warp> void launch_warps(const NormalizationTask& t, cudaStream_t stream) {
  const int64_t blocks = std::min((t.rows + Warp::kWarps - 1) / Warp::kWarps,
                                  int64_t{multiprocessors()} * Warp::kBlocks);
  rows_in_turn<Warp><<<static_cast<unsigned>(blocks), dim3(32, Warp::kWarps), 0, stream>>>(t);
}

/// Whether a parameter of that type is the same for all rows, an element for each of theirs.
template <class Scale> bool is_shared(const NormalizationTask::Parameter& p, int64_t length) {
  constexpr DataType kType = sizeof(Scale) == 4              ? DataType::kFLOAT
                             : std::is_same_v<Scale, __half> ? DataType::kHALF
                                                             : DataType::kBF16;
  return p.data != nullptr && p.type == kType && p.rows.step == 0 && p.elements.step == 1
         && p.elements.run == 1 && p.elements.period == length && is_multiple(p.data, 32);
}

template <class T, class Scale>
bool launch_in_turn_by(const NormalizationTask& t, cudaStream_t stream) {
  if (!is_shared<Scale>(t.scale, t.length) || !is_shared<Scale>(t.bias, t.length)) return false;
  const auto launch = [&](auto items) {
    constexpr int kItems = decltype(items)::value;
    if (t.addend != nullptr)
      launch_warps<WarpOfRows<T, Scale, kItems, true>>(t, stream);
    else
      launch_warps<WarpOfRows<T, Scale, kItems, false>>(t, stream);
  };
  switch (t.length) {
    case 256:
      launch(std::integral_constant<int, 1>());
      return true;
    case 512:
      launch(std::integral_constant<int, 2>());
      return true;
    case 768:
      launch(std::integral_constant<int, 3>());
      return true;
    case 1024:
      launch(std::integral_constant<int, 4>());
      return true;
    default:
      return false;
  }
}

/// False where the rows or parameters are others.
template <class T> bool launch_in_turn(const NormalizationTask& t, cudaStream_t stream) {
  if (!t.in_rows || t.mean != nullptr || !is_multiple(t.data, 16) || !is_multiple(t.result, 16)
      || !is_multiple(t.addend, 16) || !is_multiple(t.bytes.data, 8))
    return false;
  return launch_in_turn_by<T, T>(t, stream) || launch_in_turn_by<T, float>(t, stream);
}

}  // namespace
}  // namespace tenon::cuda
