#include "candidates.h"

#include <numeric>

#include "tenon/kernels/nms.h"
#include "tenon/kernels/wide_vectors.h"

namespace tenon::serve {

void Candidates::cut() {
  if (static_cast<int64_t>(all_.size()) <= max_) return;
  std::vector<size_t> order(all_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto end = order.begin() + max_;
  std::nth_element(order.begin(), end, order.end(), [&](size_t a, size_t b) {
    return all_[a].score > all_[b].score || (all_[a].score == all_[b].score && a < b);
  });
  std::sort(order.begin(), end);
  for (size_t i = 0; i < static_cast<size_t>(max_); ++i) all_[i] = all_[order[i]];
  all_.resize(static_cast<size_t>(max_));
}

void scan_classes(const float* scores, int64_t classes, int64_t boxes, float threshold,
                  const std::function<void(int64_t)>& hit) {
  constexpr int64_t kBlock = 512;  // what the best scores of are in L1
  float best[kBlock];
  for (int64_t first = 0; first < boxes; first += kBlock) {
    const int64_t count = std::min(kBlock, boxes - first);
    std::fill_n(best, count, -INFINITY);
    kernels::with_wide_vectors([&](auto) {
      for (int64_t kind = 0; kind < classes; ++kind) {
        const float* const row = scores + kind * boxes + first;
        for (int64_t i = 0; i < count; ++i) best[i] = row[i] > best[i] ? row[i] : best[i];
      }
    });
    kernels::for_each_above(best, count, threshold, [&](int64_t i, float) { hit(first + i); });
  }
}

std::vector<Box> in_picture(const std::vector<Box>& boxes, const DetectOptions& options) {
  std::vector<Box> results;
  results.reserve(boxes.size());
  for (const Box& box : boxes) {
    const Box result = mapped(options.to_picture, box);
    if (!is_finite(result)) continue;
    const bool clips = options.width > 0 && options.height > 0;
    results.push_back(clips ? clipped(result, static_cast<float>(options.width),
                                      static_cast<float>(options.height))
                            : result);
  }
  return results;
}

std::vector<Box> kept_in_picture(const std::vector<Box>& boxes, const DetectOptions& options) {
  std::vector<Box> kept;
  for (const int64_t i : session::value_of(nms(boxes, options.nms)))
    kept.push_back(boxes[static_cast<size_t>(i)]);
  return in_picture(kept, options);
}

}  // namespace tenon::serve
