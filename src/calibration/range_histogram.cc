#include "calibration/range_histogram.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/parallel.h"

namespace tenon {
namespace {

constexpr int64_t kValuesPerTask = 1 << 16;
constexpr uint32_t kInfinity = 0x7f800000;

// The bits of absolute values, which are ordered as these are, and NaN and infinity come last.
uint32_t magnitude_bits(const float* values, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
  return largest;
}

uint32_t largest_bits(std::span<const float> values) {
  std::atomic<uint32_t> largest = 0;
  parallel_for(std::ssize(values), kValuesPerTask, [&](int64_t begin, int64_t end) {
    const uint32_t found = magnitude_bits(values.data() + begin, end - begin);
    uint32_t before = largest;
    while (before < found && !largest.compare_exchange_weak(before, found)) {}
  });
  return largest;
}

int32_t bin_of(float value, float bins_per_unit) {
  return std::min(static_cast<int32_t>(std::fabs(value) * bins_per_unit),
                  RangeHistogram::kBins - 1);
}

// Counts of one task, twice: neighbours often lie in the same bin, and an increment waits for the
// one before it.
class TaskCounts {
 public:
  void add(const float* values, int64_t count, float bins_per_unit) {
    constexpr int kBlock = 512;
    std::array<int32_t, kBlock> bins;
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int block = static_cast<int>(std::min<int64_t>(kBlock, count - begin));
      for (int i = 0; i < block; ++i)
        bins[static_cast<size_t>(i)] = bin_of(values[begin + i], bins_per_unit);
      for (int i = 0; i < block; ++i)
        ++counts_[static_cast<size_t>(i % 2)][static_cast<size_t>(bins[static_cast<size_t>(i)])];
    }
  }
  uint64_t of(size_t bin) const { return uint64_t{counts_[0][bin]} + counts_[1][bin]; }

 private:
  std::array<std::array<uint32_t, RangeHistogram::kBins>, 2> counts_{};
};

}  // namespace

float RangeHistogram::bins_per_unit() const {
  // Of subnormal numbers the quotient may be beyond float; they are all but 0.
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::min(1 / width_, kLargest));
}

std::span<const uint64_t> RangeHistogram::counts() const {
  if (width_ == 0) return {};
  return std::span(counts_).first(static_cast<size_t>(bin_of(largest_, bins_per_unit())) + 1);
}

bool RangeHistogram::add(std::span<const float> values) {
  const uint32_t largest = largest_bits(values);
  if (largest >= kInfinity) return false;
  if (largest == 0 && width_ == 0) {
    zeros_ += values.size();
    return true;
  }
  make_room_for(std::bit_cast<float>(largest));
  count(values);
  return true;
}

void RangeHistogram::make_room_for(float largest) {
  largest_ = std::max(largest_, largest);
  if (width_ == 0) {
    width_ = static_cast<double>(largest) / kBins;
    counts_[0] = zeros_;
    return;
  }
  while (largest_ > width_ * kBins) {
    for (size_t i = 0; i < kBins / 2; ++i) counts_[i] = counts_[2 * i] + counts_[2 * i + 1];
    std::fill(counts_.begin() + kBins / 2, counts_.end(), 0);
    width_ *= 2;
  }
}

void RangeHistogram::count(std::span<const float> values) {
  const float factor = bins_per_unit();
  std::mutex mutex;
  parallel_for(std::ssize(values), kValuesPerTask, [&](int64_t begin, int64_t end) {
    TaskCounts counts;
    counts.add(values.data() + begin, end - begin, factor);
    const std::lock_guard lock(mutex);
    for (size_t bin = 0; bin < kBins; ++bin) counts_[bin] += counts.of(bin);
  });
}

}  // namespace tenon
