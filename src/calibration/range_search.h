// From the histogram of a tensor to the range that int8 shall represent.
#pragma once

#include <string_view>

#include "calibration/range_histogram.h"

namespace tenon {

/// How the range of a tensor is found.
enum class RangeSearch : uint8_t {
  kEntropy,           // the least Kullback-Leibler divergence of the quantized distribution
  kEntropy2,          // the same: it has a name of its own in TensorRT
  kMinMax,            // all values
  kLegacy,            // the quantile, or where a line through the histogram's end comes to 0
  kPercentile,        // the quantile
  kMeanSquaredError,  // the least mean squared error of the quantized values
};

struct RangeSearchOptions {
  RangeSearch search = RangeSearch::kEntropy2;
  /// kLegacy and kPercentile: the share of values within the range, from 0 to 1.
  double quantile = 1;
  /// kLegacy, where the quantile is 1: the share of the largest value from which on the line goes
  /// through the histogram; 1: there is none.
  double regression_cutoff = 1;
};

/// The largest integer of a symmetric range of int8.
constexpr float kLargestInt8 = 127;

/// The magnitude that the integer 127 stands for, above 0; larger ones saturate. A histogram of
/// zeros, or of numbers below 2^-100, has none: 0.
///
/// kEntropy is the search of NVIDIA's talk "8-bit Inference with TensorRT" (S. Migacz, GTC 2017):
/// of all numbers of bins from 128 on, the one whose distribution, what is beyond it in its last
/// bin, differs least from that of 128 levels. Zeros, which are exact in any case, count as the
/// second bin's values do. The range ends at the centre of the first bin that is left out, or half
/// a bin beyond the largest value.
///
/// kLegacy, whose search NVIDIA has not published, is our own.
float find_range(const RangeHistogram& histogram, const RangeSearchOptions& options);

}  // namespace tenon
