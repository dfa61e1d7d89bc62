// DetectionLayer_TRT and GenerateDetection_TRT 1 (TensorRT): regions of Mask R-CNN with their best
// class, moved and suppressed. Exact and deterministic: of equal scores the first comes first.
#include <tenon/kernels/candidate_nms.h>
#include <tenon/kernels/moved_box.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// The best class of a region, and its box moved by the deltas of that class.
template <class E> struct ClassifiedRegion {
  const E *deltas, *scores, *rois;
  float *boxes, *kept_scores;
  MovedBox moved;
  int64_t classes;
  bool skips_background;  // class 0 is never the best

  TENON_HD void operator()(int64_t i) const {
    int64_t best = skips_background && classes > 1 ? 1 : 0;
    const auto score = [&](int64_t kind) { return static_cast<float>(scores[i * classes + kind]); };
    for (int64_t kind = best + 1; kind < classes; ++kind)
      if (score(kind) > score(best)) best = kind;
    const auto roi = [&](int64_t k) { return static_cast<float>(rois[i * 4 + k]); };
    store(boxes + i * 4,
          moved({roi(0), roi(1), roi(2), roi(3)}, deltas + (i * classes + best) * 4));
    for (int64_t kind = 0; kind < classes; ++kind)
      kept_scores[i * classes + kind] = kind == best ? score(kind) : NAN;
  }
};

// Rows of y1, x1, y2, x2, class, score.
template <class E> struct ClassifiedRows {
  const float* boxes;
  KeptLists lists;
  E* out;
  int64_t count, rows;

  TENON_HD void counted(int64_t, int64_t) const {}
  TENON_HD void found(int64_t image, int64_t row, ScoreKey key) const {
    const float* b = boxes + (image * count + lists.box_of(key)) * 4;
    put(image, row, b, static_cast<float>(lists.class_of(key)), key.score());
  }
  TENON_HD void missing(int64_t image, int64_t row) const {
    const float none[4] = {};
    put(image, row, none, -1, 0);
  }

 private:
  TENON_HD void put(int64_t image, int64_t row, const float* b, float kind, float score) const {
    E* const to = out + (image * rows + row) * 6;
    for (int k = 0; k < 4; ++k) to[k] = static_cast<E>(b[k]);
    to[4] = static_cast<E>(kind);
    to[5] = static_cast<E>(score);
  }
};

struct RegionDetections {
  int32_t classes = 0, rows = 0;
  float score = 0, overlap = 0;

  using T = Types<float, Half>;

  void prepare() const {
    require_overlap(overlap);
    require_at_least("num_classes", classes, 1);
    require_at_least("keep_topk", rows, 1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = {in[2].at(0), rows, 6};
  }
  void check(std::span<const Shape> in) const {
    const int64_t images = in[2].rank() > 0 ? in[2][0] : 0, boxes = in[2].rank() > 1 ? in[2][1] : 0;
    require_list("delta", in[0], images, boxes, int64_t{classes} * 4);
    require_list("score", in[1], images, boxes, classes);
    require_list("rois", in[2], images, boxes, 4);
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return CandidateNms::bytes({in[2][0], in[2][1], classes}, rule());
  }

 protected:
  template <class E>
  void detect(const Device& device, const MovedBox& moved, bool skips_background,
              const Tensor<const E>& deltas, const Tensor<const E>& scores,
              const Tensor<const E>& rois, const Tensor<E>& out) const {
    const int64_t images = rois.shape[0], count = rois.shape[1];
    Carver carver(device.workspace);
    CandidateNms nms(carver, {images, count, classes}, rule());
    device.parallel_for(images * count,
                        ClassifiedRegion<E>{deltas.data, scores.data, rois.data, nms.boxes(),
                                            nms.scores(), moved, classes, skips_background});
    const KeptLists& lists = nms.run(device);
    write_best(device, lists, rows, ClassifiedRows<E>{nms.boxes(), lists, out.data, count, rows});
  }

 private:
  NmsRule rule() const {
    return {.overlap = overlap,
            .score = just_below(score),
            .max_boxes = rows,
            .background = classes > 1 ? 0 : -1};
  }
};

template <class P>
constexpr auto kDetectionAttributes = std::tuple{
    attribute("num_classes", &P::classes).required().says("with the background, which is class 0"),
    attribute("keep_topk", &P::rows).required().says("rows of the result"),
    attribute("score_threshold", &P::score).required().says("scores must not be below"),
    attribute("iou_threshold", &P::overlap)
        .required()
        .says("overlap above which a box is dropped")};
constexpr Ports kDetectionInputs = {{"delta", kT}, {"score", kT}, {"rois", kT}};
constexpr const char* kDetectionDiffers =
    "Any number of boxes and classes. Scores below 0.01 count. Dynamic batches. float16.";

struct DetectionLayer : RegionDetections {
  static constexpr auto attributes = kDetectionAttributes<DetectionLayer>;
  static constexpr Spec spec{
      .name = "DetectionLayer_TRT",
      .inputs = kDetectionInputs,
      .outputs = {{"detections", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Keras' Mask R-CNN: each of rois (N, B, 4), y1, x1, y2, x2 as parts of the image, has "
          "its best class of score (N, B, classes, 1, 1) and is moved by the delta (N, B, classes "
          "* 4, 1, 1) of that class. The keep_topk best rows (N, keep_topk, 6) of box, class and "
          "score after non-maximum suppression within each class. Rows that are left have class "
          "-1.",
      .differs = kDetectionDiffers};

  template <class E>
  void run(const Device& device, Tensor<const E> deltas, Tensor<const E> scores,
           Tensor<const E> rois, Tensor<E> out) const {
    detect<E>(device, {1, 1}, false, deltas, scores, rois, out);
  }
};
TENON_PLUGIN(DetectionLayer);

struct GenerateDetection : RegionDetections {
  std::vector<int32_t> image_size = {3, 832, 1344};

  static constexpr auto attributes =
      std::tuple_cat(kDetectionAttributes<GenerateDetection>,
                     std::tuple{attribute("image_size", &GenerateDetection::image_size)
                                    .says("channels, height and width")});
  static constexpr Spec spec{.name = "GenerateDetection_TRT",
                             .inputs = kDetectionInputs,
                             .outputs = {{"detections", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "TAO's Mask R-CNN: as DetectionLayer_TRT, for boxes in pixels, "
                                 "and with the best class other than the background.",
                             .differs = kDetectionDiffers};

  void prepare() const {
    RegionDetections::prepare();
    require_image(image_size);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> deltas, Tensor<const E> scores,
           Tensor<const E> rois, Tensor<E> out) const {
    detect<E>(device, within_pixels(image_size), true, deltas, scores, rois, out);
  }
};
TENON_PLUGIN(GenerateDetection);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
