#include "batch_times.h"

#include <algorithm>
#include <limits>

namespace tenon::serve {

void BatchTimes::ran(size_t size, Clock::duration time) {
  const double seconds = std::chrono::duration_cast<Seconds>(time).count();
  double& mean = seconds_[size];
  mean = mean == kUnknown ? seconds : mean + kNewest * (seconds - mean);
}

void BatchTimes::arrived(Clock::time_point now) {
  if (has_arrival_) {
    const Seconds since = now - last_arrival_;
    interval_ = interval_.count() == 0 ? since : interval_ + kNewest * (since - interval_);
  }
  last_arrival_ = now;
  has_arrival_ = true;
}

// Between the nearest sizes that are known; beyond them as their ends.
double BatchTimes::seconds(size_t size) const {
  size_t below = size, above = size;
  while (below > 0 && seconds_[below] == kUnknown) --below;
  while (above < seconds_.size() && seconds_[above] == kUnknown) ++above;
  const bool has_below = below > 0, has_above = above < seconds_.size();
  if (has_below && has_above && above > below) {
    const double part = static_cast<double>(size - below) / static_cast<double>(above - below);
    return seconds_[below] + part * (seconds_[above] - seconds_[below]);
  }
  return has_below ? seconds_[below] : has_above ? seconds_[above] : kUnknown;
}

Clock::duration BatchTimes::time(size_t size) const {
  return std::chrono::duration_cast<Clock::duration>(Seconds(std::max(0.0, seconds(size))));
}

size_t BatchTimes::efficient_size(size_t jobs) {
  constexpr double kShortest = 1e-3, kEqual = 1.01;
  constexpr size_t kWhile = 64;
  if (jobs <= 1 || seconds_[jobs] < kShortest) return jobs;
  if (++choices_ % kWhile == 0) {  // one size after the other
    const size_t size = 1 + choices_ / kWhile % jobs;
    return seconds_[size] == kUnknown ? jobs : size;
  }
  const auto each = [&](size_t size) {
    return seconds_[size] == kUnknown ? std::numeric_limits<double>::infinity()
                                      : seconds_[size] / static_cast<double>(size);
  };
  double min = each(jobs);
  for (size_t size = 1; size < jobs; ++size) min = std::min(min, each(size));
  size_t size = 1;
  while (each(size) > min * kEqual) ++size;
  return size;
}

Clock::duration BatchTimes::worthwhile_wait(size_t size) const {
  if (size == 0 || size + 1 >= seconds_.size()) return {};
  const double one = seconds(1), now = seconds(size), larger = seconds(size + 1);
  const auto known = std::count_if(seconds_.begin(), seconds_.end(),
                                   [](double seconds) { return seconds != kUnknown; });
  if (known < 2) return {};  // nothing says yet what a larger batch saves
  const auto jobs = static_cast<double>(size);
  const double gain = now + one - larger - jobs * (larger - now);
  const Seconds longest(gain / (jobs + 1));
  if (longest <= interval_) return {};  // the next is not expected by then
  return std::chrono::duration_cast<Clock::duration>(longest);
}

}  // namespace tenon::serve
