#include "calibration/range_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/parallel.h"

namespace tenon {
namespace {

using Counts = RangeHistogram::Counts;

// What some values are: counts, and the bits of the largest absolute one. These are ordered as the
// values are, and those of infinity and NaN come last.
struct Found {
  Counts counts{};
  int32_t largest_bits = 0;
};
constexpr int32_t kInfinityBits = 0x7f800000;

int32_t bin_of(float value, float bins_per_unit) {
  constexpr float kLast = RangeHistogram::kBins - 1;
  const float bin = std::fabs(value) * bins_per_unit;
  return static_cast<int32_t>(bin < kLast ? bin : kLast);  // the last for NaN, too
}

// Counts few enough values for 16 bits, in four tables: neighbours often lie in the same bin, and
// an increment waits for the one before it.
class BlockCounts {
 public:
  static constexpr int64_t kMaxValues = 1 << 16;

  int32_t add(const float* values, int64_t count, float bins_per_unit) {
    constexpr int64_t kChunk = 512;
    std::array<int32_t, kChunk> bins;
    int32_t largest = 0;
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const float* const chunk = values + begin;
      const auto size = static_cast<size_t>(std::min(kChunk, count - begin));
      for (size_t i = 0; i < size; ++i) {
        largest = std::max(largest, std::bit_cast<int32_t>(chunk[i]) & 0x7fffffff);
        bins[i] = bin_of(chunk[i], bins_per_unit);
      }
      size_t i = 0;
      for (; i + 4 <= size; i += 4)
        for (size_t k = 0; k < 4; ++k) ++counts_[k][static_cast<size_t>(bins[i + k])];
      for (; i < size; ++i) ++counts_[i % 4][static_cast<size_t>(bins[i])];
    }
    return largest;
  }

  void add_to(Counts& counts) const {
    for (size_t bin = 0; bin < counts.size(); ++bin)
      counts[bin] += static_cast<uint64_t>(counts_[0][bin]) + counts_[1][bin] + counts_[2][bin]
                     + counts_[3][bin];
  }

 private:
  std::array<std::array<uint16_t, RangeHistogram::kBins>, 4> counts_{};
};
static_assert(BlockCounts::kMaxValues / 4 <= std::numeric_limits<uint16_t>::max());

Found find(std::span<const float> values, float bins_per_unit) {
  Found found;
  std::mutex mutex;
  const int64_t blocks =
      (std::ssize(values) + BlockCounts::kMaxValues - 1) / BlockCounts::kMaxValues;
  parallel_for(blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      const int64_t begin = block * BlockCounts::kMaxValues;
      BlockCounts counts;
      const int32_t largest =
          counts.add(values.data() + begin,
                     std::min(BlockCounts::kMaxValues, std::ssize(values) - begin), bins_per_unit);
      const std::lock_guard lock(mutex);
      counts.add_to(found.counts);
      found.largest_bits = std::max(found.largest_bits, largest);
    }
  });
  return found;
}

}  // namespace

float RangeHistogram::bins_per_unit() const {
  // Of subnormal numbers the quotient may be beyond float; they are all but 0.
  constexpr double kLargest = std::numeric_limits<float>::max();
  return width_ == 0 ? 0 : static_cast<float>(std::min(1 / width_, kLargest));
}

std::span<const uint64_t> RangeHistogram::counts() const {
  if (width_ == 0) return {};
  return std::span(counts_).first(static_cast<size_t>(bin_of(largest_, bins_per_unit())) + 1);
}

bool RangeHistogram::add(std::span<const float> values) {
  Found found = find(values, bins_per_unit());
  if (found.largest_bits >= kInfinityBits) return false;
  const auto largest = std::bit_cast<float>(found.largest_bits);
  if (largest > width_ * kBins) {
    make_room_for(largest);
    found = find(values, bins_per_unit());
  }
  largest_ = std::max(largest_, largest);
  for (size_t bin = 0; bin < kBins; ++bin) counts_[bin] += found.counts[bin];
  return true;
}

void RangeHistogram::make_room_for(float largest) {
  if (width_ == 0) width_ = static_cast<double>(largest) / kBins;
  while (largest > width_ * kBins) {
    for (size_t i = 0; i < kBins / 2; ++i) counts_[i] = counts_[2 * i] + counts_[2 * i + 1];
    std::fill(counts_.begin() + kBins / 2, counts_.end(), 0);
    width_ *= 2;
  }
}

}  // namespace tenon
