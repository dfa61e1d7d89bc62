// What NMS of upright and of rotated boxes shares: the order of candidates, and their classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/kernels/score_key.h"
#include "tenon/kernels/workspace.h"
#include "tenon/serve/nms.h"

namespace tenon::serve {

/// Throws session::Error for options that mean nothing.
inline void require_nms_options(const NmsOptions& options) {
  if (!(options.iou_threshold >= 0 && options.iou_threshold <= 1))
    throw session::Error{"NMS: expected an IoU threshold from 0 to 1, found "
                         + std::to_string(options.iou_threshold)};
  if (options.max_candidates < 1)
    throw session::Error{"NMS: expected 1 or more candidates to look at, found "
                         + std::to_string(options.max_candidates)};
  if (options.max_boxes < 0)
    throw session::Error{"NMS: expected 0 or more boxes to keep, found "
                         + std::to_string(options.max_boxes)};
}

/// Memory that starts a cache line, as a Carver wants it.
class CarvedMemory {
 public:
  explicit CarvedMemory(size_t bytes) : data_(::operator new(bytes, kLine)) {}
  ~CarvedMemory() { ::operator delete(data_, kLine); }
  CarvedMemory(const CarvedMemory&) = delete;
  CarvedMemory& operator=(const CarvedMemory&) = delete;
  void* data() const { return data_; }

 private:
  static constexpr std::align_val_t kLine{64};
  void* data_;
};

/// The best candidates, at most as many as are looked at, the best first.
template <class B>
std::vector<kernels::ScoreKey> sorted_candidates(std::span<const B> boxes, int64_t max_candidates) {
  using kernels::ScoreKey;
  if (boxes.size() > UINT32_MAX)
    throw session::Error{"NMS: expected fewer than 2^32 boxes, found "
                         + std::to_string(boxes.size())};
  std::vector<ScoreKey> keys;
  keys.reserve(boxes.size());
  for (size_t i = 0; i < boxes.size(); ++i)
    if (!std::isnan(boxes[i].score))
      keys.push_back(ScoreKey::of(boxes[i].score, static_cast<uint32_t>(i)));
  const auto count = static_cast<int64_t>(keys.size());
  if (count > max_candidates) {
    std::nth_element(keys.begin(), keys.begin() + max_candidates, keys.end());
    keys.resize(static_cast<size_t>(max_candidates));
    std::sort(keys.begin(), keys.end());
    return keys;
  }
  std::vector<ScoreKey> scratch(keys.size());
  const bool is_in_scratch =
      kernels::sort_keys(keys.data(), scratch.data(), count) == scratch.data();
  return is_in_scratch && count > 0 ? scratch : keys;
}

/// Calls group(span of positions) for those of each class, ascending; or once for all.
template <class B, class F>
void for_each_class(std::span<const B> boxes, std::span<const kernels::ScoreKey> keys,
                    bool class_agnostic, const F& group) {
  std::vector<uint32_t> positions(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) positions[i] = static_cast<uint32_t>(i);
  const auto class_of = [&](uint32_t i) { return boxes[keys[i].index()].class_label; };
  if (!class_agnostic)
    std::stable_sort(positions.begin(), positions.end(),
                     [&](uint32_t a, uint32_t b) { return class_of(a) < class_of(b); });
  for (size_t begin = 0; begin < positions.size();) {
    size_t end = begin + 1;
    while (end < positions.size()
           && (class_agnostic || class_of(positions[end]) == class_of(positions[begin])))
      ++end;
    group(std::span(positions).subspan(begin, end - begin));
    begin = end;
  }
}

/// NMS with boxes of `Kept::Type`, as the kernels' KeptBoxes: shape(box) gives one.
template <class Kept, class B, class Shape>
std::vector<int64_t> suppressed(std::span<const B> boxes, const NmsOptions& options,
                                const Shape& shape) {
  require_nms_options(options);
  const auto keys = sorted_candidates(boxes, options.max_candidates);
  const bool all_suppress = options.method == NmsMethod::kFast;
  const auto count = static_cast<int64_t>(keys.size());
  const int64_t capacity = all_suppress ? count : std::min(count, options.max_boxes);
  kernels::Carver counter;
  Kept::Memory::carve(counter, capacity);
  const CarvedMemory memory(counter.bytes());
  kernels::Carver carver(memory.data());
  const auto lists = Kept::Memory::carve(carver, capacity);

  std::vector<uint32_t> stay;
  for_each_class(boxes, std::span(keys), options.class_agnostic, [&](auto positions) {
    const auto size = static_cast<int64_t>(positions.size());
    Kept kept(lists, std::min(capacity, size), options.iou_threshold);
    int64_t found = 0;
    for (size_t i = 0; i < positions.size() && found < options.max_boxes; ++i) {
      const auto box = shape(boxes[keys[positions[i]].index()]);
      const bool stays = !kept.overlaps(box);
      if (stays) {
        stay.push_back(positions[i]);
        ++found;
      }
      if (i + 1 < positions.size() && found < options.max_boxes && (stays || all_suppress))
        kept.add(box);
    }
  });
  std::sort(stay.begin(), stay.end());
  stay.resize(std::min(stay.size(), static_cast<size_t>(options.max_boxes)));
  std::vector<int64_t> indices(stay.size());
  for (size_t i = 0; i < stay.size(); ++i) indices[i] = keys[stay[i]].index();
  return indices;
}

}  // namespace tenon::serve
