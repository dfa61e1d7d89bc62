/// Non-maximum suppression: of boxes that overlap, the one with the best score is kept.
///
/// Greedy, as in torchvision.ops.nms and ONNX NonMaxSuppression. Exact and deterministic: every
/// candidate is looked at, and of equal scores the one of the lower index comes first.
#pragma once

#include <tenon/plugin/convert.h>
#include <tenon/plugin/device.h>

#include "tenon/kernels/kept_boxes.h"
#include "tenon/kernels/kept_lists.h"
#include "tenon/kernels/nms_cuda.h"

namespace tenon::kernels::inline TENON_TARGET {

#if !defined(__CUDACC__)

/// Calls hit(i, score) for those of `count` scores that are above `threshold`, in order.
template <class E, class F>
void for_each_above(const E* scores, int64_t count, float threshold, const F& hit) {
  constexpr int64_t kBlock = 16;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    float values[kBlock];
    if (n == kBlock) {
      kit::convert(scores + begin, values, kBlock);
      int any = 0;
      for (const float v : values) any |= static_cast<int>(v > threshold);
      if (any == 0) continue;
    } else {
      kit::convert(scores + begin, values, n);
    }
    for (int64_t i = 0; i < n; ++i)
      if (values[i] > threshold) hit(begin + i, values[i]);
  }
}

/// Scores of all classes of each box, as NmsShape says, in memory.
template <class E> struct ScoreTensor {
  const E* scores;

  /// Candidates of each list, by index.
  void collect(const kit::Device& device, const NmsShape& shape, const NmsRule& rule,
               const KeptLists& lists) const {
    constexpr int64_t kClasses = 16;  // that share a cache line
    const bool whole = rule.across_classes || (!shape.classes_first && shape.classes == 1);
    const int64_t group = whole ? shape.classes : shape.classes_first ? 1 : kClasses;
    const int64_t groups = (shape.classes + group - 1) / group;
    const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, shape.boxes * group));
    device.parallel_ranges(shape.images * groups, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % groups * group;
        collect(shape, rule, lists, i / groups, first, std::min(first + group, shape.classes));
      }
    });
  }

 private:
  // Those of classes [begin, end) of one image.
  void collect(const NmsShape& shape, const NmsRule& rule, const KeptLists& lists, int64_t image,
               int64_t begin, int64_t end) const {
    const int64_t boxes = shape.boxes, classes = shape.classes;
    const E* const first = scores + image * boxes * classes;
    for (int64_t kind = begin; kind < end; ++kind) lists.count(lists.list_of(image, kind)) = 0;
    const auto append = [&](int64_t box, int64_t kind, float score) {
      if (kind != rule.background) lists.append(image, box, kind, score);
    };
    if (shape.classes_first) {
      for (int64_t kind = begin; kind < end; ++kind)
        for_each_above(first + kind * boxes, boxes, rule.score,
                       [&](int64_t i, float score) { append(i, kind, score); });
    } else if (end - begin == classes) {
      for_each_above(first, boxes * classes, rule.score,
                     [&](int64_t i, float score) { append(i / classes, i % classes, score); });
    } else {
      for (int64_t box = 0; box < boxes; ++box)
        for_each_above(first + box * classes + begin, end - begin, rule.score,
                       [&](int64_t i, float score) { append(box, begin + i, score); });
    }
  }
};

/// `Boxes` gives them: Boxes::Kept::Type operator()(int64_t image, int64_t box, int64_t kind).
template <class Boxes> class Nms {
 public:
  using Kept = typename Boxes::Kept;

  Nms(const NmsShape& shape, const NmsRule& rule, Carver& carver)
      : shape_(shape), rule_(rule), lists_(shape, rule) {
    lists_.carve(carver);
    lanes_ = std::min(lists_.lists(), kMaxLanes);
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      memory_[lane].scratch = carver.array<ScoreKey>(lists_.capacity());
      memory_[lane].kept = Kept::Memory::carve(carver, max_boxes());
    }
  }

  template <class E>
  const KeptLists& run(const kit::Device& device, const E* scores, const Boxes& boxes) {
    return run_from(device, ScoreTensor<E>{scores}, boxes);
  }
  /// @param scores as ScoreTensor
  template <class Scores>
  const KeptLists& run_from(const kit::Device& device, const Scores& scores, const Boxes& boxes) {
    scores.collect(device, shape_, rule_, lists_);
    device.parallel_ranges(lanes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t lane = begin; lane < end; ++lane)
        for (int64_t list = lane; list < lists_.lists(); list += lanes_)
          suppress(list, boxes, memory_[lane]);
    });
    return lists_;
  }

 private:
  static constexpr int64_t kMaxLanes = 8;
  // What the one thread that is in a lane works with.
  struct Memory {
    ScoreKey* scratch;
    typename Kept::Memory kept;
  };

  int64_t max_boxes() const { return std::clamp<int64_t>(rule_.max_boxes, 0, lists_.capacity()); }

  // Leaves of a list what is kept.
  void suppress(int64_t list, const Boxes& boxes, const Memory& memory) const {
    const int64_t image = list / lists_.lists_per_image(), max_boxes = this->max_boxes();
    ScoreKey* const out = lists_.keys(list);
    const int64_t count = lists_.count(list);
    const ScoreKey* const sorted = sort_keys(out, memory.scratch, count);
    if (rule_.overlap == INFINITY) {  // all stay
      lists_.count(list) = std::min({count, rule_.considered, max_boxes});
      if (sorted != out) std::copy_n(sorted, lists_.count(list), out);
      return;
    }
    Kept kept(memory.kept, std::min(count, max_boxes), rule_.overlap);
    int64_t found = 0;
    for (int64_t i = 0; i < std::min(count, rule_.considered) && found < max_boxes; ++i) {
      const ScoreKey key = sorted[i];
      const auto box = boxes(image, lists_.box_of(key), lists_.class_of(key));
      if (kept.overlaps(box)) continue;
      out[found++] = key;
      if (found < max_boxes) kept.add(box);
    }
    lists_.count(list) = found;
  }

  NmsShape shape_;
  NmsRule rule_;
  KeptLists lists_;
  int64_t lanes_;
  Memory memory_[kMaxLanes];
};

#endif

/// Bytes of workspace that Nms<Boxes> carves.
template <class Boxes> size_t nms_workspace(const NmsShape& shape, const NmsRule& rule) {
  Carver carver;
  Nms<Boxes>(shape, rule, carver);
  return carver.bytes();
}

}  // namespace tenon::kernels::inline TENON_TARGET
