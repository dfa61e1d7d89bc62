/// Non-maximum suppression of candidates that a plugin works out itself: their boxes and scores are
/// written into workspace as floats, and rows of the best ones are read from there.
#pragma once

#include "tenon/kernels/box_tensor.h"

namespace tenon::kernels::inline TENON_TARGET {

TENON_HD inline void store(float* to, const Box& b) {
  to[0] = b.x1;
  to[1] = b.y1;
  to[2] = b.x2;
  to[3] = b.y2;
}

class CandidateNms {
 public:
  CandidateNms(Carver& carver, const NmsShape& shape, const NmsRule& rule)
      : shape_(shape),
        boxes_(carver.array<float>(shape.images * shape.boxes * 4)),
        scores_(carver.array<float>(shape.images * shape.boxes * shape.classes)),
        nms_(shape, rule, carver) {}
  /// Bytes of workspace.
  static size_t bytes(const NmsShape& shape, const NmsRule& rule) {
    Carver carver;
    CandidateNms(carver, shape, rule);
    return carver.bytes();
  }

  float* boxes() const { return boxes_; }  ///< (images, boxes, 4)
  /// (images, boxes, classes); a NaN is no candidate.
  float* scores() const { return scores_; }
  /// `pixel` makes boxes wider and higher.
  const KeptLists& run(const kit::Device& device, float pixel = 0) {
    return nms_.run(device, scores_,
                    BoxTensor<float>{boxes_, shape_.boxes, 1, BoxCoding::kCorners, pixel});
  }

 private:
  NmsShape shape_;
  float *boxes_, *scores_;
  Nms<BoxTensor<float>> nms_;
};

/// For WriteBest: (images, rows, 4), the numbers of each box that is kept times factors. Rows that
/// are left are 0.
template <class E> struct BoxRows {
  const float* boxes;
  KeptLists lists;
  E* out;
  int64_t count, rows;  // boxes of an image
  float y_factor = 1, x_factor = 1;

  TENON_HD void counted(int64_t, int64_t) const {}
  TENON_HD void found(int64_t image, int64_t row, ScoreKey key) const {
    const float* b = boxes + (image * count + lists.box_of(key)) * 4;
    for (int64_t k = 0; k < 4; ++k)
      out[(image * rows + row) * 4 + k] = static_cast<E>(b[k] * (k % 2 == 0 ? y_factor : x_factor));
  }
  TENON_HD void missing(int64_t image, int64_t row) const {
    for (int64_t k = 0; k < 4; ++k) out[(image * rows + row) * 4 + k] = static_cast<E>(0.f);
  }
};

/// The best `rows` of each image go to `out`, as WriteBest says.
template <class Out>
void write_best(const kit::Device& device, const KeptLists& lists, int64_t rows, const Out& out) {
  device.parallel_rows(lists.images(), WriteBest<Out>{lists, rows, out});
}

/// @param considered of a list, so many of the best; 0 or less: all
/// @param overlap above which a box is dropped
/// @param score candidates have a score above
inline NmsRule proposal_rule(int32_t considered, int32_t rows, float overlap,
                             float score = -INFINITY) {
  NmsRule rule{.overlap = overlap, .score = score, .max_boxes = rows};
  if (considered > 0) rule.considered = considered;
  return rule;
}

}  // namespace tenon::kernels::inline TENON_TARGET
