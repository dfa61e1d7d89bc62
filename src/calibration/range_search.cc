#include "calibration/range_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace tenon {
namespace {

// Below it, scales and their inverses are beyond float.
constexpr float kSmallestRange = 0x1p-100f;

constexpr size_t kLevels = 128;  // that a magnitude of int8 has

// Where clipping to so many bins ends.
double end_of(const RangeHistogram& histogram, size_t bins) {
  if (bins < histogram.counts().size())
    return (static_cast<double>(bins) + 0.5) * histogram.width();
  constexpr double kHalfABinMore = (RangeHistogram::kBins + 0.5) / RangeHistogram::kBins;
  return histogram.largest() * kHalfABinMore;
}

// x log x.
double entropy_term(double x) {
  return x > 0 ? x * std::log(x) : 0;
}

// What the divergences of all clippings are made of: sums over the bins before each.
class EntropySearch {
 public:
  explicit EntropySearch(std::span<const uint64_t> histogram)
      : counts_(histogram.begin(), histogram.end()), values_(1), filled_(1), terms_(1) {
    if (counts_.size() > 1) counts_[0] = counts_[1];
    for (const double count : counts_) {
      values_.push_back(values_.back() + count);
      filled_.push_back(filled_.back() + (count > 0 ? 1 : 0));
      terms_.push_back(terms_.back() + entropy_term(count));
    }
  }

  // The Kullback-Leibler divergence of the distribution in the first `bins` bins, what is beyond
  // them in the last, from what 128 levels make of them: the values of a level are spread evenly
  // over its bins that are not empty.
  double divergence(size_t bins) const {
    const double inside = values_[bins], all = values_.back(), outliers = all - inside;
    const double last = counts_[bins - 1];
    // Outliers in a bin that is empty without them: no level says anything of them.
    if (!(inside > 0) || (outliers > 0 && last == 0))
      return std::numeric_limits<double>::infinity();
    double logarithms = 0, level_of_last = 1;
    for (size_t level = 0; level < kLevels; ++level) {
      const size_t begin = begin_of(level, bins), end = begin_of(level + 1, bins);
      const double sum = values_[end] - values_[begin];
      if (!(sum > 0)) continue;
      level_of_last = sum / (filled_[end] - filled_[begin]);
      logarithms += sum * std::log(level_of_last);
    }
    logarithms += outliers * std::log(level_of_last);
    const double own = terms_[bins - 1] + entropy_term(last + outliers);
    return (own - logarithms) / all - std::log(all / inside);
  }

 private:
  static size_t begin_of(size_t level, size_t bins) {
    return (level * bins + kLevels - 1) / kLevels;
  }

  std::vector<double> counts_;
  std::vector<double> values_, filled_, terms_;  // of the bins before each
};

double by_entropy(const RangeHistogram& histogram) {
  const EntropySearch search(histogram.counts());
  const size_t all = histogram.counts().size();
  double lowest = std::numeric_limits<double>::infinity();
  size_t best = all;
  for (size_t bins = all; bins >= kLevels; --bins) {
    const double found = search.divergence(bins);
    if (found < lowest) {
      lowest = found;
      best = bins;
    }
  }
  return end_of(histogram, best);
}

// The least magnitude that so large a share of the values does not exceed; within a bin they are
// taken for evenly spread.
double by_quantile(const RangeHistogram& histogram, double quantile) {
  const auto counts = histogram.counts();
  const double wanted =
      quantile * static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  double below = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (here > 0 && below + here >= wanted) {
      const double end = (static_cast<double>(i) + (wanted - below) / here) * histogram.width();
      return std::clamp(end, histogram.width(), static_cast<double>(histogram.largest()));
    }
    below += here;
  }
  return histogram.largest();
}

// Where the line of least squares through the bins from the cutoff on comes to 0.
double by_regression(const RangeHistogram& histogram, double cutoff) {
  const auto counts = histogram.counts();
  const auto first = static_cast<size_t>(cutoff * static_cast<double>(counts.size()));
  const auto n = static_cast<double>(counts.size() - first);
  double x_sum = 0, y_sum = 0, xx_sum = 0, xy_sum = 0;
  for (size_t i = first; i < counts.size(); ++i) {
    const double x = static_cast<double>(i) + 0.5, y = static_cast<double>(counts[i]);
    x_sum += x, y_sum += y, xx_sum += x * x, xy_sum += x * y;
  }
  const double slope = (n * xy_sum - x_sum * y_sum) / (n * xx_sum - x_sum * x_sum);
  if (!(slope < 0)) return histogram.largest();
  const double end = (x_sum - y_sum / slope) / n;
  return std::clamp(end * histogram.width(), static_cast<double>(first + 1) * histogram.width(),
                    static_cast<double>(histogram.largest()));
}

// The error of a range: each bin's values are taken for its centre.
double squared_error(const RangeHistogram& histogram, double range) {
  const auto counts = histogram.counts();
  const double scale = range / static_cast<double>(kLargestInt8);
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double value = (static_cast<double>(i) + 0.5) * histogram.width();
    const double level = std::min(std::nearbyint(value / scale), static_cast<double>(kLargestInt8));
    const double error = value - level * scale;
    sum += static_cast<double>(counts[i]) * error * error;
  }
  return sum;
}

double by_squared_error(const RangeHistogram& histogram) {
  const size_t bins = histogram.counts().size();
  double best = histogram.largest(), lowest = squared_error(histogram, best);
  for (size_t end = std::min(kLevels, bins); end < bins; ++end) {
    const double range = static_cast<double>(end) * histogram.width();
    const double error = squared_error(histogram, range);
    if (error < lowest) {
      lowest = error;
      best = range;
    }
  }
  return best;
}

double search(const RangeHistogram& histogram, const RangeSearchOptions& options) {
  switch (options.search) {
    case RangeSearch::kEntropy:
    case RangeSearch::kEntropy2:
      return by_entropy(histogram);
    case RangeSearch::kMinMax:
      return histogram.largest();
    case RangeSearch::kLegacy:
      if (options.quantile >= 1 && options.regression_cutoff < 1)
        return by_regression(histogram, options.regression_cutoff);
      return by_quantile(histogram, options.quantile);
    case RangeSearch::kPercentile:
      return by_quantile(histogram, options.quantile);
    case RangeSearch::kMeanSquaredError:
      return by_squared_error(histogram);
  }
  return histogram.largest();
}

}  // namespace

float find_range(const RangeHistogram& histogram, const RangeSearchOptions& options) {
  if (histogram.largest() < kSmallestRange) return 0;
  const auto range = static_cast<float>(search(histogram, options));
  // Half a bin beyond the largest float is infinite.
  return std::min(range, std::numeric_limits<float>::max());
}

}  // namespace tenon
