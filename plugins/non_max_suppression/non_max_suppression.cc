// NonMaxSuppression, EfficientNMS_ONNX_TRT, TorchNMSPluginDynamic and NMSRotated 1: the indices of
// the boxes that non-maximum suppression keeps. Exact and deterministic: of equal scores the lower
// box index comes first.
#include <tenon/kernels/box_tensor.h>
#include <tenon/kernels/rotated_boxes.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

// What the plugins have in common.
struct IndexNms {
  float overlap = 0.5f, score = 0;
  int32_t max_boxes = 0, center_point_box = 0;

  void prepare() const {
    require_overlap(overlap);
    if (center_point_box != 0 && center_point_box != 1)
      throw std::invalid_argument("expected a center_point_box of 0 or 1, found "
                                  + std::to_string(center_point_box));
  }

 protected:
  BoxCoding coding() const {
    return center_point_box != 0 ? BoxCoding::kCenterSize : BoxCoding::kOppositeCorners;
  }
};

// Rows of (image, class, box).
struct IndexRows {
  KeptLists lists;
  int32_t* rows;

  TENON_HD void put(int64_t row, int64_t image, ScoreKey key) const {
    rows[3 * row] = static_cast<int32_t>(image);
    rows[3 * row + 1] = static_cast<int32_t>(lists.class_of(key));
    rows[3 * row + 2] = static_cast<int32_t>(lists.box_of(key));
  }
  TENON_HD void put_none(int64_t row) const {
    for (int64_t i = 0; i < 3; ++i) rows[3 * row + i] = -1;
  }
};

// All lists one behind the other: by image, class and falling score. A call writes one of them; the
// call after the last one the rest of `count` rows.
struct WriteLists {
  IndexRows to;
  int64_t count;

  TENON_DEVICE void operator()(const Team& team, int64_t list) const {
    const KeptLists& lists = to.lists;
    const int64_t first = team.reduce(
        list, int64_t{0}, [](int64_t a, int64_t b) { return a + b; },
        [&](int64_t before) { return lists.count(before); });
    if (list == lists.lists())
      team.each(count - first, [&](int64_t i) { to.put_none(first + i); });
    else
      team.each(lists.count(list), [&](int64_t i) {
        to.put(first + i, list / lists.lists_per_image(), lists.keys(list)[i]);
      });
  }
};

// The first list of each image, one behind the other; the last row is repeated in the rest of
// `count` rows.
struct WriteFirstLists {
  IndexRows to;
  int64_t count;

  TENON_DEVICE void operator()(const Team& team, int64_t) const {
    const KeptLists& lists = to.lists;
    int64_t row = 0, last_image = 0;
    ScoreKey last = ScoreKey::none();
    for (int64_t image = 0; image < lists.images(); ++image) {
      const int64_t list = image * lists.lists_per_image(), found = lists.count(list);
      const ScoreKey* const keys = lists.keys(list);
      team.each(found, [&](int64_t i) { to.put(row + i, image, keys[i]); });
      if (found > 0) last_image = image, last = keys[found - 1];
      row += found;
    }
    team.each(count - row, [&](int64_t i) {
      if (last.is_none())
        to.put_none(row + i);
      else
        to.put(row + i, last_image, last);
    });
  }
};

// Box indices of one list, followed by -1.
struct WriteIndices {
  KeptLists lists;
  int32_t* indices;

  TENON_HD void operator()(int64_t i) const {
    indices[i] = i < lists.count(0) ? static_cast<int32_t>(lists.box_of(lists.keys(0)[i])) : -1;
  }
};

struct NonMaxSuppression : IndexNms {
  int32_t offset = 0;

  using T = Types<float, Half>;
  static constexpr auto attributes =
      std::tuple{attribute("center_point_box", &NonMaxSuppression::center_point_box)
                     .says("0: boxes are opposite corners, 1: centres and sizes"),
                 attribute("max_output_boxes_per_class", &NonMaxSuppression::max_boxes)
                     .says("so many boxes of a class are kept; 0: any number"),
                 attribute("iou_threshold", &NonMaxSuppression::overlap)
                     .says("overlap above which a box is dropped"),
                 attribute("score_threshold", &NonMaxSuppression::score)
                     .says("scores must not be below, where it is positive"),
                 attribute("offset", &NonMaxSuppression::offset)
                     .says("boxes are wider and higher by so much")};
  static constexpr Spec spec{
      .name = "NonMaxSuppression",
      .inputs = {{"boxes", kT}, {"scores", kT}},
      .outputs = {{"indices", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "Boxes (N, B, 4) and scores (N, C, B) become rows (image, class, box) of the boxes "
          "that are kept, by image, class and falling score, in N * C * min(B, "
          "max_output_boxes_per_class) rows. Rows that are left are -1.",
      .differs = "Corners may come in any order."};

  NonMaxSuppression() { overlap = 0; }

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    const Extent boxes = in[1].at(2);
    out[0] = {in[1].at(0) * in[1].at(1) * (max_boxes > 0 ? min(boxes, max_boxes) : boxes), 3};
  }
  void check(std::span<const Shape> in) const { shape_of(in[0], in[1]); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return nms_workspace<BoxTensor<float>>(shape_of(in[0], in[1]), rule());
  }

  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores,
           Tensor<int32_t> indices) const {
    const NmsShape shape = shape_of(boxes.shape, scores.shape);
    Carver carver(device.workspace);
    Nms<BoxTensor<E>> nms(shape, rule(), carver);
    const KeptLists& lists =
        nms.run(device, scores.data,
                BoxTensor<E>{boxes.data, shape.boxes, 1, coding(), static_cast<float>(offset)});
    device.parallel_rows(lists.lists() + 1, WriteLists{{lists, indices.data}, indices.shape[0]});
  }

 private:
  static NmsShape shape_of(const Shape& boxes, const Shape& scores) {
    return DetectionShape::of(boxes, scores, true).scores;
  }
  NmsRule rule() const {
    NmsRule rule{.overlap = overlap};
    if (score > 0) rule.score = just_below(score);
    if (max_boxes > 0) rule.max_boxes = max_boxes;
    return rule;
  }
};
TENON_PLUGIN(NonMaxSuppression);

struct EfficientNmsOnnx : IndexNms {
  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("score_threshold", &EfficientNmsOnnx::score).says("scores must be above"),
      attribute("iou_threshold", &EfficientNmsOnnx::overlap)
          .says("overlap above which a box is dropped"),
      attribute("max_output_boxes_per_class", &EfficientNmsOnnx::max_boxes)
          .says("so many boxes of an image are kept")
          .required(),
      attribute("center_point_box", &EfficientNmsOnnx::center_point_box)
          .says("0: boxes are opposite corners, 1: centres and sizes")};
  static constexpr Spec spec{
      .name = "EfficientNMS_ONNX_TRT",
      .inputs = {{"boxes", kT}, {"scores", kT}},
      .outputs = {{"indices", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "Boxes (N, B, 4) and scores (N, B, C) become rows (image, class, box) of the boxes "
          "that are kept, by image and falling score: at most max_output_boxes_per_class of "
          "an image, in as many rows for each. The last row is repeated in those that are "
          "left, which are -1 when there is none.",
      .differs =
          "Thresholds are those of the ONNX operator: scores above, overlaps not above. "
          "Every candidate is looked at, and the order is always the same."};

  EfficientNmsOnnx() { score = 0.5f; }

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    DetectionShape::require_images(in[1].size());
    out[0] = {in[1].at(0) * max_boxes, 3};
  }
  void check(std::span<const Shape> in) const { DetectionShape::of(in[0], in[1]); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return nms_workspace<BoxTensor<float>>(DetectionShape::of(in[0], in[1]).scores, rule());
  }

  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores,
           Tensor<int32_t> indices) const {
    const DetectionShape shape = DetectionShape::of(boxes.shape, scores.shape);
    Carver carver(device.workspace);
    Nms<BoxTensor<E>> nms(shape.scores, rule(), carver);
    const KeptLists& lists =
        nms.run(device, scores.data,
                BoxTensor<E>{boxes.data, shape.scores.boxes, shape.box_classes, coding()});
    device.parallel_rows(lists.images(), TakeBest{lists, max_boxes});
    device.parallel_rows(1, WriteFirstLists{{lists, indices.data}, indices.shape[0]});
  }

 private:
  NmsRule rule() const { return {.overlap = overlap, .score = score, .max_boxes = max_boxes}; }
};
TENON_PLUGIN(EfficientNmsOnnx);

struct TorchNms : IndexNms {
  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{attribute("iou_threshold", &TorchNms::overlap)
                                                    .says("overlap above which a box is dropped")
                                                    .required()};
  static constexpr Spec spec{
      .name = "TorchNMSPluginDynamic",
      .inputs = {{"boxes", kT}, {"scores", kT}},
      .outputs = {{"indices", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "Boxes (B, 4) as corners and scores (B) become the indices (B) of the boxes that "
          "torchvision.ops.nms keeps, by falling score, followed by -1.",
      .differs = "Boxes whose score is not positive are kept, too."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const { out[0] = in[1]; }
  void check(std::span<const Shape> in) const {
    if (in[0].rank() != 2 || in[0][1] != 4 || in[1].rank() != 1 || in[0][0] != in[1][0])
      throw std::invalid_argument("expected boxes (B, 4) and scores (B), found " + text_of(in[0])
                                  + " and " + text_of(in[1]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return nms_workspace<BoxTensor<float>>({1, in[1][0], 1}, {.overlap = overlap});
  }

  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores,
           Tensor<int32_t> indices) const {
    const int64_t count = scores.shape[0];
    Carver carver(device.workspace);
    Nms<BoxTensor<E>> nms({1, count, 1}, {.overlap = overlap}, carver);
    const KeptLists& lists = nms.run(device, scores.data, BoxTensor<E>{boxes.data, count, 1});
    device.parallel_for(count, WriteIndices{lists, indices.data});
  }
};
TENON_PLUGIN(TorchNms);
TENON_PLUGIN_AS(TorchNms, "TorchNMS");

struct NmsRotated : IndexNms {
  using T = Types<float, Half>;
  static constexpr auto attributes =
      std::tuple{attribute("iou_threshold", &NmsRotated::overlap)
                     .says("overlap above which a box is dropped")
                     .required(),
                 attribute("score_threshold", &NmsRotated::score).says("scores must be above")};
  static constexpr Spec spec{
      .name = "NMSRotated",
      .inputs = {{"boxes", kT}, {"scores", kT}},
      .outputs = {{"indices", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "Boxes (N, B, 5) of centre, width, height and angle in radians, and scores "
          "(N, C, B), become rows (image, class, box) of the boxes that are kept, by image, "
          "class and falling score, in N * C * B rows. Rows that are left are -1. What two "
          "boxes share is worked out exactly.",
      .differs = "Indices are int32, and their number does not depend on the data."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = {in[1].at(0) * in[1].at(1) * in[1].at(2), 3};
  }
  void check(std::span<const Shape> in) const { shape_of(in[0], in[1]); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return nms_workspace<RotatedBoxTensor<float>>(shape_of(in[0], in[1]), rule());
  }

  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores,
           Tensor<int32_t> indices) const {
    const NmsShape shape = shape_of(boxes.shape, scores.shape);
    Carver carver(device.workspace);
    Nms<RotatedBoxTensor<E>> nms(shape, rule(), carver);
    const KeptLists& lists =
        nms.run(device, scores.data, RotatedBoxTensor<E>{boxes.data, shape.boxes, 1});
    device.parallel_rows(lists.lists() + 1, WriteLists{{lists, indices.data}, indices.shape[0]});
  }

 private:
  static NmsShape shape_of(const Shape& boxes, const Shape& scores) {
    return DetectionShape::of(boxes, scores, true, 5).scores;
  }
  NmsRule rule() const { return {.overlap = overlap, .score = score}; }
};
TENON_PLUGIN(NmsRotated);

}  // namespace tenon::plugins::TENON_TARGET
