// TRTBatchedNMS, TRTBatchedRotatedNMS, BatchedNMS_TRT, BatchedNMSDynamic_TRT and
// BatchedNMS_TRT_CUSTOM 1: the best boxes of each image, after non-maximum suppression within each
// class. Exact and deterministic: there is no limit to the candidates but the one that is set, and
// of equal scores the lower box index comes first, then the lower class.
#include <tenon/kernels/detections.h>
#include <tenon/kernels/rotated_boxes.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

// What the plugins have in common.
struct BatchedNms {
  int32_t background = -1, classes = -1, considered = -1, rows = 0;
  float score = 0, overlap = 0;
  bool clips = true, is_normalized = true;

  void prepare() const { require_limits(rows, overlap); }

 protected:
  DetectionShape shape_of(const Shape& boxes, const Shape& scores, int64_t numbers) const {
    const DetectionShape shape = DetectionShape::of(boxes, scores, false, numbers);
    if (classes > 0 && shape.scores.classes != classes)
      throw std::invalid_argument("scores " + text_of(scores) + " are of "
                                  + std::to_string(shape.scores.classes)
                                  + " classes, but the attribute says " + std::to_string(classes));
    return shape;
  }
  NmsRule rule() const {
    NmsRule rule{.overlap = overlap, .score = score, .max_boxes = rows, .background = background};
    if (considered > 0) rule.considered = considered;
    return rule;
  }
  template <class Boxes> size_t workspace_for(const DetectionShape& shape) const {
    return nms_workspace<Boxes>(shape.scores, rule());
  }
};

// MMDeploy's attributes, in both spellings: that of its code and that of its documentation.
template <class P>
constexpr auto kMmdeployAttributes = std::tuple{
    attribute("background_label_id", &P::background)
        .alias("backgroundLabelId")
        .says("class that is left out; -1 for none"),
    attribute("num_classes", &P::classes)
        .alias("numClasses")
        .says("classes of the scores, to be checked; -1 for any number"),
    attribute("topk", &P::considered)
        .alias("topK")
        .says("of each class, so many of the best boxes are looked at; 0 or less: all"),
    attribute("keep_topk", &P::rows)
        .alias("keepTopK")
        .says("rows of the output for each image")
        .required(),
    attribute("score_threshold", &P::score).alias("scoreThreshold").says("scores must be above"),
    attribute("iou_threshold", &P::overlap)
        .alias("iouThreshold")
        .says("overlap above which a box is dropped")
        .required(),
    attribute("is_normalized", &P::is_normalized).alias("isNormalized").says("has no effect"),
    attribute("clip_boxes", &P::clips)
        .alias("clipBoxes")
        .says("whether coordinates are clipped to [0, 1]")};

struct TrtBatchedNms : BatchedNms {
  bool returns_index = false;

  using T = Types<float, Half>;
  static constexpr auto attributes =
      std::tuple_cat(kMmdeployAttributes<TrtBatchedNms>,
                     std::tuple{attribute("return_index", &TrtBatchedNms::returns_index)
                                    .alias("returnIndex")
                                    .says("whether there is a third output")});
  static constexpr Spec spec{
      .name = "TRTBatchedNMS",
      .inputs = {{"boxes", kT}, {"scores", kT}},
      .outputs = {{"dets", kT}, {"labels", kInt32}, {"index", kInt32, kOptional}},
      .protocol = Protocol::kV2,
      .text =
          "Boxes (N, B, 1 or C, 4) as corners and scores (N, B, C) become the keep_topk best "
          "rows (N, keep_topk, 5) of box and score, their classes, and with return_index their "
          "box indices (N, keep_topk). Rows that are left are 0, with class and index -1.",
      .differs =
          "topk has no limit, and rows beyond it are padded. Boxes may have three axes. The "
          "index is that of the box also when each class has boxes of its own."};

  int output_count() const { return returns_index ? 3 : 2; }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    DetectionShape::require_images(in[1].size());
    out[0] = {in[0].at(0), rows, 5};
    for (size_t i = 1; i < out.size(); ++i) out[i] = {in[0].at(0), rows};
  }
  void check(std::span<const Shape> in) const { shape_of(in[0], in[1], 4); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return workspace_for<BoxTensor<float>>(shape_of(in[0], in[1], 4));
  }

  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores,
           Tensor<E> detections, Tensor<int32_t> labels, Tensor<int32_t> index) const {
    const DetectionShape shape = shape_of(boxes.shape, scores.shape, 4);
    const BoxTensor<E> from{boxes.data, shape.scores.boxes, shape.box_classes};
    Carver carver(device.workspace);
    Nms<BoxTensor<E>> nms(shape.scores, rule(), carver);
    const KeptLists& lists = nms.run(device, scores.data, from);
    ScoredDetectionTensors<E>{detections.data, labels.data, index.data}.write(
        device, lists, rows, 4, clips ? 4 : 0, from);
  }
};
TENON_PLUGIN(TrtBatchedNms);

struct TrtBatchedRotatedNms : BatchedNms {
  using T = Types<float, Half>;
  static constexpr auto attributes = kMmdeployAttributes<TrtBatchedRotatedNms>;
  static constexpr Spec spec{
      .name = "TRTBatchedRotatedNMS",
      .inputs = {{"boxes", kT}, {"scores", kT}},
      .outputs = {{"dets", kT}, {"labels", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "As TRTBatchedNMS, for boxes of centre, width, height and angle in radians: rows are "
          "(N, keep_topk, 6). What two boxes share is worked out exactly.",
      .differs = "clip_boxes clips centres and sizes but leaves angles alone."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    DetectionShape::require_images(in[1].size());
    out[0] = {in[0].at(0), rows, 6};
    out[1] = {in[0].at(0), rows};
  }
  void check(std::span<const Shape> in) const { shape_of(in[0], in[1], 5); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return workspace_for<RotatedBoxTensor<float>>(shape_of(in[0], in[1], 5));
  }

  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores,
           Tensor<E> detections, Tensor<int32_t> labels) const {
    const DetectionShape shape = shape_of(boxes.shape, scores.shape, 5);
    const RotatedBoxTensor<E> from{boxes.data, shape.scores.boxes, shape.box_classes};
    Carver carver(device.workspace);
    Nms<RotatedBoxTensor<E>> nms(shape.scores, rule(), carver);
    const KeptLists& lists = nms.run(device, scores.data, from);
    ScoredDetectionTensors<E>{detections.data, labels.data, nullptr}.write(device, lists, rows, 5,
                                                                           clips ? 4 : 0, from);
  }
};
TENON_PLUGIN(TrtBatchedRotatedNms);

// NVIDIA's names, from 7.x on.
struct NvidiaBatchedNms : BatchedNms {
  bool is_shared = true, counts_pixels = true;
  int32_t score_bits = 16;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("shareLocation", &NvidiaBatchedNms::is_shared)
          .says("whether boxes serve all classes; the shapes say it"),
      attribute("backgroundLabelId", &NvidiaBatchedNms::background)
          .says("class that is left out; -1 for none"),
      attribute("numClasses", &NvidiaBatchedNms::classes)
          .says("classes of the scores, to be checked; -1 for any number"),
      attribute("topK", &NvidiaBatchedNms::considered)
          .says("of each class, so many of the best boxes are looked at; 0 or less: all"),
      attribute("keepTopK", &NvidiaBatchedNms::rows)
          .says("rows of the output for each image")
          .required(),
      attribute("scoreThreshold", &NvidiaBatchedNms::score).says("scores must be above"),
      attribute("iouThreshold", &NvidiaBatchedNms::overlap)
          .says("overlap above which a box is dropped")
          .required(),
      attribute("isNormalized", &NvidiaBatchedNms::is_normalized)
          .says("0: coordinates count pixels, so that boxes are wider and higher by 1"),
      attribute("clipBoxes", &NvidiaBatchedNms::clips)
          .says("whether coordinates are clipped to [0, 1]"),
      attribute("scoreBits", &NvidiaBatchedNms::score_bits).says("has no effect: scores are exact"),
      attribute("caffeSemantics", &NvidiaBatchedNms::counts_pixels)
          .says("0: boxes are no wider, whatever isNormalized says")};
  static constexpr Spec spec{
      .name = "BatchedNMSDynamic_TRT",
      .inputs = {{"boxes", kT}, {"scores", kT}},
      .outputs = {{"num_detections", kInt32},
                  {"nmsed_boxes", kT},
                  {"nmsed_scores", kT},
                  {"nmsed_classes", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Boxes (N, B, 1 or C, 4) as opposite corners and scores (N, B, C) become the number "
          "of boxes (N, 1), and the keepTopK best boxes, scores and classes. Rows that are "
          "left are 0, with class -1.",
      .differs =
          "topK has no limit, and keepTopK may be larger. Boxes that do not meet share "
          "nothing, also where they count pixels. BatchedNMS_TRT takes tensors with and "
          "without an axis of images."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    const bool has_images = in[1].size() > 2;
    for (Extents& o : out) o = has_images ? Extents{in[0].at(0)} : Extents{};
    if (has_images) out[0].push_back(1);
    for (size_t i = 1; i < out.size(); ++i) out[i].push_back(rows);
    out[1].push_back(4);
  }
  void check(std::span<const Shape> in) const { shape_of(in[0], in[1], 4); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return workspace_for<BoxTensor<float>>(shape_of(in[0], in[1], 4));
  }

  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores,
           Tensor<int32_t> counts, Tensor<E> kept, Tensor<E> kept_scores,
           Tensor<E> kept_classes) const {
    const DetectionShape shape = shape_of(boxes.shape, scores.shape, 4);
    const BoxTensor<E> from{boxes.data, shape.scores.boxes, shape.box_classes,
                            BoxCoding::kOppositeCorners,
                            !is_normalized && counts_pixels ? 1.f : 0.f};
    Carver carver(device.workspace);
    Nms<BoxTensor<E>> nms(shape.scores, rule(), carver);
    const KeptLists& lists = nms.run(device, scores.data, from);
    DetectionTensors<E, E>{counts.data, kept.data, kept_scores.data, kept_classes.data}.write(
        device, lists, rows, from, {.clips = clips});
  }
};
TENON_PLUGIN(NvidiaBatchedNms);
TENON_PLUGIN_AS(NvidiaBatchedNms, "BatchedNMS_TRT");

// amirstan's name; it never counts pixels.
struct CustomBatchedNms : NvidiaBatchedNms {
  static constexpr Spec spec = renamed(NvidiaBatchedNms::spec, "BatchedNMS_TRT_CUSTOM");
  CustomBatchedNms() { counts_pixels = false; }
};
TENON_PLUGIN(CustomBatchedNms);

}  // namespace tenon::plugins::TENON_TARGET
