/// Sparse convolution as products of matrices: each result is the sum, over the elements of the
/// kernel, of the input that a table names there times the element's matrix.
#pragma once

#include <tenon/plugin/device.h>

#include <algorithm>
#include <cmath>

#include "tenon/kernels/elementary.h"
#include "tenon/kernels/float_copies.h"
#include "tenon/kernels/leaky.h"
#include "tenon/kernels/wide_vectors.h"

namespace tenon::kernels::inline TENON_TARGET {

enum class SparseActivation { kNone = 0, kRelu = 1, kSigmoid = 2, kLeakyRelu = 3 };

template <class E> struct SparseProduct {
  const E* x;            // (inputs, channels)
  const E* kernel;       // (output channels, taps, channels)
  const int32_t* table;  // (taps, results): rows of x, or -1
  const int32_t* order;  // of the results, those that read alike side by side; or null
  const E* bias;         // (output channels), or null
  E* y;                  // (results, output channels)
  int64_t inputs, channels, taps, results, output_channels;
  SparseActivation activation;
  float alpha;

  TENON_HD float activated(float x) const {
    switch (activation) {
      case SparseActivation::kRelu:
        return x < 0 ? 0.f : x;
      case SparseActivation::kSigmoid:
        return sigmoid(x);
      case SparseActivation::kLeakyRelu:
        return leaky(x, alpha);
      default:
        return x;
    }
  }
};

#if !defined(__CUDACC__)

/// Some results at a time: for each tap those that read something are multiplied together, where
/// their inputs and sums lie.
template <class E, int vector> class SparseMultiplier {
 public:
  static constexpr int64_t kResults = 128, kColumns = 256;  // sums of a block
  static constexpr int kRows = vector == 16 ? 8 : 4;        // of a tile, in registers
  using V = Vector<vector>;

  SparseMultiplier(const SparseProduct<E>& product, const float* x, float* kernel)
      : p_(product), x_(x), kernel_(kernel), panels_((p_.output_channels + vector - 1) / vector) {}

  int64_t packs() const { return p_.taps * panels_; }
  /// Packs a panel of output channels of a tap: for each channel a vector, padded with zeros.
  void pack(int64_t pack) const {
    const int64_t tap = pack / panels_, first = pack % panels_ * vector;
    float* const to = kernel_ + pack * p_.channels * vector;
    for (int64_t j = 0; j < vector; ++j) {
      const bool is_there = first + j < p_.output_channels;
      const E* const from = p_.kernel + ((is_there ? first + j : 0) * p_.taps + tap) * p_.channels;
      for (int64_t c = 0; c < p_.channels; ++c)
        to[c * vector + j] = is_there ? static_cast<float>(from[c]) : 0;
    }
  }

  /// Results from `first` on. False where the table names inputs that are not there.
  bool run(int64_t first) {
    const int64_t count = std::min(kResults, p_.results - first);
    for (int64_t column = 0; column < p_.output_channels; column += kColumns) {
      const int64_t columns = std::min(kColumns, p_.output_channels - column);
      const int64_t panels = (columns + vector - 1) / vector;
      for (int64_t j = 0; j < panels * vector; ++j)
        sums_[j] = p_.bias != nullptr && j < columns ? static_cast<float>(p_.bias[column + j]) : 0;
      for (int64_t r = 1; r < count; ++r) std::copy_n(sums_, panels * vector, sums_ + r * kColumns);
      for (int64_t tap = 0; tap < p_.taps; ++tap) {
        if (!gather(tap, first, count)) return false;
        add(kernel_ + (tap * panels_ + column / vector) * p_.channels * vector, panels);
      }
      for (int64_t r = 0; r < count; ++r)
        for (int64_t j = 0; j < columns; ++j)
          p_.y[(first + r) * p_.output_channels + column + j] =
              static_cast<E>(p_.activated(sums_[r * kColumns + j]));
    }
    return true;
  }

 private:
  // Lists the inputs and sums of a tap, filled up to whole tiles with sums that nobody reads.
  bool gather(int64_t tap, int64_t first, int64_t count) {
    const int32_t* const table = p_.table + tap * p_.results + first;
    int64_t rows = 0;
    bool is_valid = true;
    for (int64_t r = 0; r < count; ++r) {
      const int64_t input = table[r];
      is_valid = is_valid && input < p_.inputs;
      from_[rows] = x_ + std::max<int64_t>(input, 0) * p_.channels;
      to_[rows] = sums_ + r * kColumns;
      rows += input >= 0;
    }
    for (rows_ = rows; rows_ % kRows != 0; ++rows_) {
      from_[rows_] = from_[0];
      to_[rows_] = sums_ + kResults * kColumns;
    }
    return is_valid;
  }
  [[gnu::always_inline]] inline void add(const float* kernel, int64_t panels) const {
    const int64_t step = p_.channels * vector;
    for (int64_t r = 0; r < rows_; r += kRows) {
      int64_t j = 0;
      for (; j + 2 <= panels; j += 2) add_tile<2>(r, kernel + j * step, j * vector);
      if (j < panels) add_tile<1>(r, kernel + j * step, j * vector);
    }
  }
  template <int vectors>
  [[gnu::always_inline]] inline void add_tile(int64_t row, const float* kernel,
                                              int64_t column) const {
    V sums[kRows][vectors];
    const float* const* const from = from_ + row;
    const int64_t step = p_.channels * vector;
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < vectors; ++v)
        sums[r][v] = *reinterpret_cast<const V*>(to_[row + r] + column + v * vector);
    for (int64_t c = 0; c < p_.channels; ++c) {
      V factor[vectors];
      for (int v = 0; v < vectors; ++v)
        factor[v] = *reinterpret_cast<const V*>(kernel + v * step + c * vector);
      for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < vectors; ++v) sums[r][v] += from[r][c] * factor[v];
    }
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < vectors; ++v)
        *reinterpret_cast<V*>(to_[row + r] + column + v * vector) = sums[r][v];
  }

  const SparseProduct<E>& p_;
  const float* x_;
  float* kernel_;
  int64_t panels_, rows_ = 0;
  const float* from_[kResults + kRows];
  float* to_[kResults + kRows];
  alignas(64) float sums_[(kResults + 1) * kColumns];
};

template <class E>
size_t sparse_product_workspace(int64_t inputs, int64_t channels, int64_t taps,
                                int64_t output_channels) {
  constexpr int64_t kWidest = 16;
  Carver carver;
  FloatCopies::reserve(carver, inputs * channels);
  carver.array<float>(taps * channels * ((output_channels + kWidest - 1) / kWidest * kWidest));
  return carver.bytes();
}

/// `carver` has what sparse_product_workspace() says.
template <class E>
void sparse_product(const kit::Device& device, Carver& carver, const SparseProduct<E>& product) {
  const float* const x =
      FloatCopies(device, carver).of(product.x, product.inputs * product.channels);
  float* const kernel = carver.array<float>(0);
  with_wide_vectors([&](auto vector) {
    const SparseMultiplier<E, decltype(vector)::value> packer(product, x, kernel);
    device.parallel_ranges(packer.packs(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) packer.pack(i);
    });
  });
  constexpr int64_t kResults = SparseMultiplier<E, 4>::kResults;
  const int64_t blocks = (product.results + kResults - 1) / kResults;
  device.parallel_ranges(blocks, 1, [&](int64_t begin, int64_t end) {
    bool is_valid = true;
    with_wide_vectors([&](auto vector) {
      SparseMultiplier<E, decltype(vector)::value> multiplier(product, x, kernel);
      for (int64_t i = begin; i < end; ++i) is_valid = multiplier.run(i * kResults) && is_valid;
    });
    if (!is_valid)
      throw std::invalid_argument("the pairs name rows behind the " + std::to_string(product.inputs)
                                  + " of the features");
  });
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET

#include "tenon/kernels/sparse_product_cuda.h"
