#include "candidates.h"

#include <cstring>
#include <numeric>
#include <type_traits>

#include "tenon/kernels/wide_vectors.h"
#include "tenon/plugin/convert.h"

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

namespace {

// A block of boxes: the best score of each, and the classes of those that are looked at.
class ClassBlock {
 public:
  static constexpr int64_t kSize = 512;  // what is kept of them is in L1, and their scores in L2

  ClassBlock(const View& scores, int64_t begin, int64_t classes, int64_t boxes)
      : scores_(scores), begin_(begin), classes_(classes), boxes_(boxes) {}

  void find_best(int64_t first, int64_t count) {
    std::fill_n(best_, count, -INFINITY);
    for (int64_t kind = 0; kind < classes_; ++kind) {
      const float* const row = this->row(kind, first, count);
      kernels::with_wide_vectors([&](auto) {
        for (int64_t i = 0; i < count; ++i) best_[i] = row[i] > best_[i] ? row[i] : best_[i];
      });
    }
  }

  // Of the boxes whose best score is above the threshold.
  void find_classes(int64_t first, int64_t count, float threshold) {
    hits_.clear();
    for (int64_t i = 0; i < count; ++i)
      if (best_[i] > threshold) hits_.push_back(static_cast<int32_t>(i));
    if (hits_.empty()) return;
    constexpr int64_t kDense = 16;  // one of so many: then it is as well to look at all
    const bool is_dense = static_cast<int64_t>(hits_.size()) * kDense > count;
    for (int64_t kind = classes_ - 1; kind >= 0; --kind) {  // the first stays
      const float* const row = this->row(kind, first, count);
      const auto label = static_cast<int32_t>(kind);
      if (is_dense)
        label_all(row, count, label);
      else
        for (const int32_t i : hits_) labels_[i] = row[i] == best_[i] ? label : labels_[i];
    }
  }

  std::span<const int32_t> hits() const { return hits_; }
  int32_t label(int64_t i) const { return labels_[i]; }

 private:
  void label_all(const float* row, int64_t count, int32_t label) {
    kernels::with_wide_vectors([&](auto width) {
      using V = kernels::Vector<width()>;
      int64_t i = 0;
      for (; i + width() <= count; i += width()) {
        const auto is_best =
            *reinterpret_cast<const V*>(row + i) == *reinterpret_cast<const V*>(best_ + i);
        using Labels = std::remove_const_t<decltype(is_best)>;
        Labels labels;
        std::memcpy(&labels, labels_ + i, sizeof labels);
        labels = is_best ? label + Labels{} : labels;
        std::memcpy(labels_ + i, &labels, sizeof labels);
      }
      for (; i < count; ++i) labels_[i] = row[i] == best_[i] ? label : labels_[i];
    });
  }

  const float* row(int64_t kind, int64_t first, int64_t count) {
    const int64_t at = begin_ + kind * boxes_ + first;
    if (scores_.type() == DataType::kFLOAT) return static_cast<const float*>(scores_.data()) + at;
    kit::convert(static_cast<const kit::Half*>(scores_.data()) + at, widened_, count);
    return widened_;
  }

  const View& scores_;
  int64_t begin_, classes_, boxes_;
  float best_[kSize], widened_[kSize];
  int32_t labels_[kSize];
  std::vector<int32_t> hits_;
};

}  // namespace

void scan_classes(const View& scores, int64_t begin, int64_t classes, int64_t boxes,
                  float threshold, const std::function<void(int64_t, int64_t)>& hit) {
  ClassBlock block(scores, begin, classes, boxes);
  for (int64_t first = 0; first < boxes; first += ClassBlock::kSize) {
    const int64_t count = std::min(ClassBlock::kSize, boxes - first);
    block.find_best(first, count);
    block.find_classes(first, count, threshold);
    for (const int32_t i : block.hits()) hit(first + i, block.label(i));
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
