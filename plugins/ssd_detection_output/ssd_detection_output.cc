// NMS_TRT and NMSDynamic_TRT 1: what SSD's heads say, as Caffe's DetectionOutput gives it. Boxes
// are decoded from anchors, and suppressed within each class.
#include <tenon/kernels/detections.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// With the numbers of nvinfer1::plugin::CodeTypeSSD.
enum class SsdCoding { kCorner = 0, kCenterSize = 1, kCornerSize = 2, kTfCenter = 3 };

// Boxes (N, boxes, classes or 1, 4) relative to priors (N or 1, 2, boxes, 4): corners and
// variances.
template <class E> struct SsdBoxes {
#if !defined(__CUDACC__)
  using Kept = KeptBoxes;
#endif
  const E* deltas;
  const E* priors;
  int64_t count, classes, prior_images;
  SsdCoding coding;
  bool has_variance;  // deltas are to be multiplied by
  float offset;       // a box ends so far behind its second corner

  TENON_HD Box corners(int64_t image, int64_t box, int64_t kind) const {
    const E* delta = deltas + ((image * count + box) * classes + (classes == 1 ? 0 : kind)) * 4;
    const E* prior = priors + ((prior_images == 1 ? 0 : image * 2) * count + box) * 4;
    const E* variance = prior + count * 4;
    float d[4], p[4];
    for (int i = 0; i < 4; ++i) {
      // TensorFlow's deltas are y, x, height, width.
      d[i] = static_cast<float>(delta[coding == SsdCoding::kTfCenter ? i ^ 1 : i]);
      if (has_variance) d[i] *= static_cast<float>(variance[i]);
      p[i] = static_cast<float>(prior[i]);
    }
    const float width = p[2] - p[0], height = p[3] - p[1];
    if (coding == SsdCoding::kCorner) return {p[0] + d[0], p[1] + d[1], p[2] + d[2], p[3] + d[3]};
    if (coding == SsdCoding::kCornerSize)
      return {p[0] + d[0] * width, p[1] + d[1] * height, p[2] + d[2] * width, p[3] + d[3] * height};
    const float x = (p[0] + p[2]) / 2 + d[0] * width, y = (p[1] + p[3]) / 2 + d[1] * height;
    const float right = expf(d[2]) * width / 2, down = expf(d[3]) * height / 2;
    return {x - right, y - down, x + right, y + down};
  }
  TENON_HD Box operator()(int64_t image, int64_t box, int64_t kind) const {
    const Box b = corners(image, box, kind);
    return {b.x1, b.y1, b.x2 + offset, b.y2 + offset};
  }
};

// Rows of image, class, score, x1, y1, x2, y2.
template <class E> struct SsdRows {
  E* detections;
  int32_t* counts;
  KeptLists lists;
  int64_t rows;
  SsdBoxes<E> boxes;
  DetectionFormat format;

  TENON_HD void counted(int64_t image, int64_t count) const {
    counts[image] = static_cast<int32_t>(count);
  }
  TENON_HD void found(int64_t image, int64_t row, ScoreKey key) const {
    const int64_t box = lists.box_of(key), kind = lists.class_of(key);
    put(image, row, kind, format.score_of(key.score()),
        format.placed(boxes.corners(image, box, kind)));
  }
  TENON_HD void missing(int64_t image, int64_t row) const { put(image, row, -1, 0, {}); }

 private:
  TENON_HD void put(int64_t image, int64_t row, int64_t kind, float score, const Box& b) const {
    const float values[] = {
        static_cast<float>(image), static_cast<float>(kind), score, b.x1, b.y1, b.x2, b.y2};
    for (int i = 0; i < 7; ++i)
      detections[(image * rows + row) * 7 + i] = static_cast<E>(values[i]);
  }
};

struct SsdDetectionOutput {
  bool is_shared = true, variance_in_target = false, is_logit = false, is_normalized = true;
  bool one_prior = false;
  int32_t background = 0, classes = 0, considered = -1, rows = 0, score_bits = 16;
  float score = 0, overlap = 0.5f;
  std::vector<int32_t> order = {0, 2, 1};
  SsdCoding coding = SsdCoding::kTfCenter;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("shareLocation", &SsdDetectionOutput::is_shared)
          .says("1: a box serves all classes; 0: each class has boxes"),
      attribute("varianceEncodedInTarget", &SsdDetectionOutput::variance_in_target)
          .says("1: deltas are not multiplied by the variances"),
      attribute("backgroundLabelId", &SsdDetectionOutput::background)
          .says("class that is left out; -1 for none"),
      attribute("numClasses", &SsdDetectionOutput::classes).required(),
      attribute("topK", &SsdDetectionOutput::considered)
          .says("of each class, so many of the best boxes are looked at; 0 or less: all"),
      attribute("keepTopK", &SsdDetectionOutput::rows)
          .required()
          .says("rows of the output for each image"),
      attribute("confidenceThreshold", &SsdDetectionOutput::score).says("scores must be above"),
      attribute("nmsThreshold", &SsdDetectionOutput::overlap)
          .says("overlap above which a box is dropped"),
      attribute("inputOrder", &SsdDetectionOutput::order)
          .says("which inputs are the deltas, the scores and the priors"),
      attribute("confSigmoid", &SsdDetectionOutput::is_logit).says("1: scores are given as logits"),
      attribute("isNormalized", &SsdDetectionOutput::is_normalized)
          .says("0: coordinates count pixels, so that boxes are wider and higher by 1"),
      attribute("codeType", &SsdDetectionOutput::coding,
                {{"corner", SsdCoding::kCorner},
                 {"center_size", SsdCoding::kCenterSize},
                 {"corner_size", SsdCoding::kCornerSize},
                 {"tf_center", SsdCoding::kTfCenter}})
          .says("how deltas are relative to priors"),
      attribute("scoreBits", &SsdDetectionOutput::score_bits)
          .says("has no effect: scores are exact"),
      attribute("isBatchAgnostic", &SsdDetectionOutput::one_prior)
          .says("1: the first image's priors serve all")};
  static constexpr Spec spec{
      .name = "NMSDynamic_TRT",
      .inputs = {{"input0", kT}, {"input1", kT}, {"input2", kT}},
      .outputs = {{"detections", kT}, {"keep_count", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "SSD's deltas (N, boxes * 4, 1, 1), with boxes of each class unless shareLocation, "
          "scores (N, boxes * numClasses, 1, 1) and priors (N or 1, 2, boxes * 4, 1), in the order "
          "that inputOrder says, become the keepTopK best rows (N, 1, keepTopK, 7) of image, "
          "class, score, x1, y1, x2, y2, clipped to [0, 1], and how many there are (N, 1, 1, 1). "
          "Rows that are left have class -1.",
      .differs =
          "topK has no limit, and keepTopK may be larger. keep_count is int32, as its elements "
          "are. A codeType is checked. Nothing is kept between runs."};

  void prepare() const {
    require_limits(rows, overlap);
    std::vector<int32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != std::vector<int32_t>{0, 1, 2})
      throw std::invalid_argument("inputOrder must have 0, 1 and 2, each once");
    require_at_least("numClasses", classes, 1);
    const auto number = static_cast<int>(coding);
    if (number < 0 || number > 3)
      throw std::invalid_argument("codeType must be 0 to 3, found " + std::to_string(number));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    for (const Extents& x : in)
      if (x.size() != 4)
        throw std::invalid_argument("inputs must have 4 dimensions, found "
                                    + std::to_string(x.size()));
    const Extent images = in[at(0)][0];
    out[0] = {images, 1, rows, 7};
    out[1] = {images, 1, 1, 1};
  }
  void check(std::span<const Shape> in) const { shape_of(in[at(0)], in[at(1)], in[at(2)]); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return nms_workspace<SsdBoxes<float>>(shape_of(in[at(0)], in[at(1)], in[at(2)]), rule());
  }

  template <class E>
  void run(const Device& device, Tensor<const E> a, Tensor<const E> b, Tensor<const E> c,
           Tensor<E> detections, Tensor<int32_t> counts) const {
    const Tensor<const E> in[] = {a, b, c};
    const Tensor<const E>&deltas = in[at(0)], &scores = in[at(1)], &priors = in[at(2)];
    const NmsShape shape = shape_of(deltas.shape, scores.shape, priors.shape);
    const SsdBoxes<E> boxes{deltas.data,
                            priors.data,
                            shape.boxes,
                            is_shared ? 1 : classes,
                            one_prior ? 1 : priors.shape[0],
                            coding,
                            !variance_in_target,
                            is_normalized ? 0.f : 1.f};
    Carver carver(device.workspace);
    Nms<SsdBoxes<E>> nms(shape, rule(), carver);
    const KeptLists& lists = nms.run(device, scores.data, boxes);
    device.parallel_rows(lists.images(),
                         WriteBest<SsdRows<E>>{lists,
                                               rows,
                                               {detections.data,
                                                counts.data,
                                                lists,
                                                rows,
                                                boxes,
                                                {.clips = true, .is_logit = is_logit}}});
  }

 private:
  size_t at(size_t role) const { return static_cast<size_t>(order[role]); }
  NmsShape shape_of(const Shape& deltas, const Shape& scores, const Shape& priors) const {
    const int64_t images = deltas[0], box_classes = is_shared ? 1 : classes;
    const auto rest = [](const Shape& s) { return s[1] * s[2] * s[3]; };
    const int64_t boxes = rest(deltas) / 4 / box_classes;
    const bool fits = rest(deltas) == boxes * box_classes * 4 && scores[0] == images
                      && rest(scores) == boxes * classes && priors[1] == 2
                      && priors[2] * priors[3] == boxes * 4
                      && (one_prior ? priors[0] >= 1 : priors[0] == 1 || priors[0] == images);
    if (!fits)
      throw std::invalid_argument(
          "deltas " + text_of(deltas) + ", scores " + text_of(scores) + " and priors "
          + text_of(priors) + " do not fit; expected (N, boxes * 4"
          + (is_shared ? "" : " * numClasses") + ", 1, 1), (N, boxes * " + std::to_string(classes)
          + ", 1, 1) and (N or 1, 2, boxes * 4, 1)");
    return {images, boxes, classes};
  }
  NmsRule rule() const {
    NmsRule rule{.overlap = overlap,
                 .score = is_logit ? std::log(score / (1 - score)) : score,
                 .max_boxes = rows,
                 .background = background};
    if (is_logit && !(score > 0)) rule.score = -INFINITY;
    if (considered > 0) rule.considered = considered;
    return rule;
  }
};
TENON_PLUGIN(SsdDetectionOutput);
TENON_PLUGIN_AS(SsdDetectionOutput, "NMS_TRT");

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
