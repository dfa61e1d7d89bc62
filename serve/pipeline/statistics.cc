#include "tenon/serve/statistics.h"

#include <algorithm>
#include <numeric>

namespace tenon::serve {

void Histogram::add(double value) {
  int bucket = 0;
  while (bucket + 1 < kBuckets && value > bound(bucket)) ++bucket;
  ++counts_[static_cast<size_t>(bucket)];
  ++count_;
  sum_ += value;
}

double Histogram::quantile(double part) const {
  const double wanted = part * static_cast<double>(count_);
  uint64_t seen = 0;
  for (int bucket = 0; bucket < kBuckets && count_ > 0; ++bucket) {
    seen += in_bucket(bucket);
    if (static_cast<double>(seen) >= wanted) return bound(bucket);
  }
  return 0;
}

uint64_t Statistics::failures() const {
  return std::accumulate(failed.begin(), failed.end(), uint64_t{0});
}

}  // namespace tenon::serve
