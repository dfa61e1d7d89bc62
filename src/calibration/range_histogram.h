// How large the absolute values of one tensor are.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tenon {

/// Counts absolute values in bins of equal width. The first values that are not all 0 set the
/// width, so that their largest one ends the last bin; a larger one later merges neighbouring bins
/// until it fits. So memory does not depend on how many values come.
class RangeHistogram {
 public:
  static constexpr int kBins = 2048;
  using Counts = std::array<uint64_t, kBins>;

  /// Returns false, and adds nothing, when one of the values is infinite or NaN.
  [[nodiscard]] bool add(std::span<const float> values);

  /// The largest absolute value so far; 0 when all are 0, or there are none.
  float largest() const { return largest_; }
  /// Of a bin; 0 while largest() is.
  double width() const { return width_; }
  /// How many values lie in each bin, up to the one that holds the largest value, which is the
  /// last. Zeros lie in the first.
  std::span<const uint64_t> counts() const;

 private:
  float bins_per_unit() const;
  void make_room_for(float largest);

  float largest_ = 0;
  double width_ = 0;
  Counts counts_{};  // zeros in the first, as long as there is no width
};

}  // namespace tenon
