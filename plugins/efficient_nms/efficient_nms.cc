// EfficientNMS_TRT, EfficientNMS_Explicit_TF_TRT and EfficientNMS_Implicit_TF_TRT 1: the best boxes
// of each image, after non-maximum suppression within each class or over all of them. Exact and
// deterministic: every candidate is looked at, and of equal scores the lower box index comes first,
// then the lower class.
#include <tenon/kernels/detections.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

// What the plugins have in common. Both thresholds are inclusive.
struct EfficientNmsBase {
  float score = 0.5f, overlap = 0.5f;
  int32_t rows = 100;

  void prepare() const { require_limits(rows, overlap); }

 protected:
  NmsRule rule_of(int64_t max_boxes, float min_score) const {
    return {.overlap = just_below(overlap), .score = just_below(min_score), .max_boxes = max_boxes};
  }
  template <class E>
  static void detect(const Device& device, const NmsShape& shape, const NmsRule& rule,
                     const E* scores, const BoxTensor<E>& boxes, int64_t rows,
                     const DetectionFormat& format, const DetectionTensors<E, int32_t>& out) {
    Carver carver(device.workspace);
    Nms<BoxTensor<E>> nms(shape, rule, carver);
    out.write(device, nms.run(device, scores, boxes), rows, boxes, format);
  }
};

struct EfficientNms : EfficientNmsBase {
  int32_t background = -1;
  bool is_logit = false, across_classes = false, is_center_size = false;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("score_threshold", &EfficientNms::score)
          .says("scores must not be below, after the activation"),
      attribute("iou_threshold", &EfficientNms::overlap)
          .says("overlap from which on a box is dropped"),
      attribute("max_output_boxes", &EfficientNms::rows).says("rows of the output for each image"),
      attribute("background_class", &EfficientNms::background)
          .says("class that is left out; -1 for none"),
      attribute("score_activation", &EfficientNms::is_logit)
          .says("1: scores are given as logits, and come out as their sigmoid"),
      attribute("class_agnostic", &EfficientNms::across_classes)
          .says("1: boxes of one class suppress those of others, too"),
      attribute("box_coding", &EfficientNms::is_center_size)
          .says("0: boxes and anchors are opposite corners, 1: centres and sizes")};
  static constexpr Spec spec{
      .name = "EfficientNMS_TRT",
      .inputs = {{"boxes", kT}, {"scores", kT}, {"anchors", kT, kOptional}},
      .outputs = {{"num_detections", kInt32},
                  {"detection_boxes", kT},
                  {"detection_scores", kT},
                  {"detection_classes", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "Boxes (N, B, 4) or (N, B, 1 or C, 4) and scores (N, B, C) become the number of "
          "boxes (N, 1), and the max_output_boxes best boxes as corners, scores and classes. "
          "With anchors (N or 1, B, 4) boxes are relative to them. Rows that are left are 0.",
      .differs = "No candidate is left out, however many there are."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    DetectionShape::require_images(in[1].size());
    const Extent images = in[0].at(0);
    out[0] = {images, 1};
    out[1] = {images, rows, 4};
    out[2] = out[3] = {images, rows};
  }
  void check(std::span<const Shape> in) const {
    const NmsShape shape = DetectionShape::of(in[0], in[1]).scores;
    if (in.size() < 3) return;
    const Shape& anchors = in[2];
    if (anchors.rank() != 3 || (anchors[0] != 1 && anchors[0] != shape.images)
        || anchors[1] != shape.boxes || anchors[2] != 4)
      throw std::invalid_argument("anchors " + text_of(anchors) + " do not fit boxes "
                                  + text_of(in[0]) + "; expected (images or 1, boxes, 4)");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return nms_workspace<BoxTensor<float>>(DetectionShape::of(in[0], in[1]).scores, rule());
  }

  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores,
           Tensor<const E> anchors, Tensor<int32_t> counts, Tensor<E> kept, Tensor<E> kept_scores,
           Tensor<int32_t> kept_classes) const {
    const DetectionShape shape = DetectionShape::of(boxes.shape, scores.shape);
    BoxTensor<E> from{boxes.data, shape.scores.boxes, shape.box_classes,
                      is_center_size ? BoxCoding::kCenterSize : BoxCoding::kOppositeCorners};
    if (anchors) {
      from.anchors = anchors.data;
      from.anchor_images = anchors.shape[0];
    }
    detect(device, shape.scores, rule(), scores.data, from, rows,
           {.is_logit = is_logit, .no_class = 0},
           {counts.data, kept.data, kept_scores.data, kept_classes.data});
  }

 private:
  NmsRule rule() const {
    NmsRule rule = rule_of(rows, is_logit ? std::log(score / (1 - score)) : score);
    if (is_logit && !(score > 0)) rule.score = -INFINITY;
    rule.background = background;
    rule.across_classes = across_classes;
    return rule;
  }
};
TENON_PLUGIN(EfficientNms);

// The plugins that TensorFlow's combined_non_max_suppression is converted to.
struct TensorFlowNms : EfficientNmsBase {
  int32_t max_of_class = -1;
  bool pads_classes = false, clips = false;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("max_output_size_per_class", &TensorFlowNms::max_of_class)
          .says("so many boxes of a class are kept; -1: any number"),
      attribute("max_total_size", &TensorFlowNms::rows).says("rows of the output for each image"),
      attribute("iou_threshold", &TensorFlowNms::overlap)
          .says("overlap from which on a box is dropped"),
      attribute("score_threshold", &TensorFlowNms::score).says("scores must not be below"),
      attribute("pad_per_class", &TensorFlowNms::pads_classes)
          .says("1: no more rows than max_output_size_per_class for each class"),
      attribute("clip_boxes", &TensorFlowNms::clips)
          .says("whether coordinates are clipped to [0, 1]")};
  static constexpr Spec spec{
      .name = "EfficientNMS_Explicit_TF_TRT",
      .inputs = {{"boxes", kT}, {"scores", kT}},
      .outputs = EfficientNms::spec.outputs,
      .protocol = Protocol::kV2,
      .text =
          "As EfficientNMS_TRT, for boxes as opposite corners, with the attributes of "
          "TensorFlow's combined_non_max_suppression. The implicit one takes tensors with and "
          "without an axis of images.",
      .differs = EfficientNms::spec.differs};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    const bool has_images = in[1].size() > 2;
    const Extent classes = in[1].at(has_images ? 2 : 1);
    const Extent rows_of_image = pads_classes && max_of_class > 0
                                     ? min(Extent(rows), Extent(max_of_class) * classes)
                                     : Extent(rows);
    for (Extents& o : out) o = has_images ? Extents{in[0].at(0)} : Extents{};
    if (has_images) out[0].push_back(1);
    for (size_t i = 1; i < out.size(); ++i) out[i].push_back(rows_of_image);
    out[1].push_back(4);
  }
  void check(std::span<const Shape> in) const { DetectionShape::of(in[0], in[1]); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return nms_workspace<BoxTensor<float>>(DetectionShape::of(in[0], in[1]).scores, rule());
  }

  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores,
           Tensor<int32_t> counts, Tensor<E> kept, Tensor<E> kept_scores,
           Tensor<int32_t> kept_classes) const {
    const DetectionShape shape = DetectionShape::of(boxes.shape, scores.shape);
    const int last = kept_scores.shape.rank() - 1;
    detect(device, shape.scores, rule(), scores.data,
           BoxTensor<E>{boxes.data, shape.scores.boxes, shape.box_classes,
                        BoxCoding::kOppositeCorners},
           kept_scores.shape[last], {.clips = clips, .no_class = 0},
           {counts.data, kept.data, kept_scores.data, kept_classes.data});
  }

 private:
  NmsRule rule() const {
    return rule_of(max_of_class < 0 ? rows : std::min(rows, max_of_class), score);
  }
};
TENON_PLUGIN(TensorFlowNms);
TENON_PLUGIN_AS(TensorFlowNms, "EfficientNMS_Implicit_TF_TRT");

}  // namespace tenon::plugins::TENON_TARGET
