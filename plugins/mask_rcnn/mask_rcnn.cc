// Boxes of Faster R-CNN and Mask R-CNN: ProposalLayer_TRT, MultilevelProposeROI_TRT,
// DetectionLayer_TRT, GenerateDetection_TRT, Proposal and ProposalDynamic 1, all of TensorRT. Boxes
// are y1, x1, y2, x2, moved from anchors by deltas of their middle and of the logarithm of their
// size, and suppressed. Exact and deterministic: of equal scores the first comes first.
#include <tenon/kernels/box_tensor.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// An anchor moved by deltas, clipped to its image. Axes are y, x.
struct MovedBox {
  float bottom, right;  // of the image
  float pixel = 0;      // 1: a box covers its last pixel, and logarithms are clamped

  TENON_HD Box operator()(const Box& anchor, const float* delta) const {
    const float height = anchor.x2 - anchor.x1 + pixel, width = anchor.y2 - anchor.y1 + pixel;
    const float y = anchor.x1 + height / 2 + delta[0] * 0.1f * height;
    const float x = anchor.y1 + width / 2 + delta[1] * 0.1f * width;
    const float tall = expf(logarithm(delta[2])) * height;
    const float wide = expf(logarithm(delta[3])) * width;
    const float top = y - tall / 2, left = x - wide / 2;
    return {clip(top, bottom), clip(left, right), clip(top + tall - pixel, bottom),
            clip(left + wide - pixel, right)};
  }

 private:
  TENON_HD float logarithm(float delta) const {
    constexpr float kMax = 4.135166556742356f;  // of 1000 / 16
    return pixel > 0 ? fminf(delta * 0.2f, kMax) : delta * 0.2f;
  }
  TENON_HD static float clip(float at, float high) { return fmaxf(fminf(at, high), 0.f); }
};

TENON_HD inline void store(float* to, const Box& b) {
  to[0] = b.x1;
  to[1] = b.y1;
  to[2] = b.x2;
  to[3] = b.y2;
}

// Boxes and scores in workspace, and non-maximum suppression of them.
class CandidateNms {
 public:
  CandidateNms(Carver& carver, const NmsShape& shape, const NmsRule& rule)
      : shape_(shape),
        boxes_(carver.array<float>(shape.images * shape.boxes * 4)),
        scores_(carver.array<float>(shape.images * shape.boxes * shape.classes)),
        nms_(shape, rule, carver) {}

  float* boxes() const { return boxes_; }
  /// (images, boxes, classes); a NaN is no candidate.
  float* scores() const { return scores_; }
  /// `pixel` makes boxes wider and higher.
  const KeptLists& run(const Device& device, float pixel = 0) {
    return nms_.run(device, scores_, tensor(pixel));
  }

 private:
  BoxTensor<float> tensor(float pixel) const {
    return {boxes_, shape_.boxes, 1, BoxCoding::kCorners, pixel};
  }

  NmsShape shape_;
  float *boxes_, *scores_;
  Nms<BoxTensor<float>> nms_;
};

// The four numbers of each row that is kept, times factors; rows that are left are 0.
template <class E> struct BoxRows {
  const float* boxes;
  KeptLists lists;
  E* out;
  int64_t count, rows;
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

template <class Out>
void write_best(const Device& device, const KeptLists& lists, int64_t rows, const Out& out) {
  device.parallel_rows(lists.images(), WriteBest<Out>{lists, rows, out});
}

NmsRule proposal_rule(int32_t considered, int32_t rows, float overlap, float score = -INFINITY) {
  NmsRule rule{.overlap = overlap, .score = score, .max_boxes = rows};
  if (considered > 0) rule.considered = considered;
  return rule;
}

void require_image(const std::vector<int32_t>& size) {
  if (size.size() != 3 || size[1] < 2 || size[2] < 2)
    throw std::invalid_argument(
        "image_size must be channels, height and width, the last two of at least 2");
}

// (N, boxes, numbers), or with axes of 1 behind them.
void require_list(const char* name, const Shape& found, int64_t images, int64_t boxes,
                  int64_t numbers) {
  bool fits = found.rank() >= 3 && found[0] == images && found[1] == boxes && found[2] == numbers;
  for (int axis = 3; fits && axis < found.rank(); ++axis) fits = found[axis] == 1;
  if (!fits)
    throw std::invalid_argument(std::string(name) + " must be (" + std::to_string(images) + ", "
                                + std::to_string(boxes) + ", " + std::to_string(numbers)
                                + "), found " + text_of(found));
}

// Anchors of Keras' Mask R-CNN, as parts of the image: on five maps, rows first, three for a place.
struct PyramidAnchors {
  int64_t height, width;
  static constexpr int kLevels = 5;

  TENON_HD static int64_t positions(int64_t extent, int64_t stride) {
    return (extent + stride - 1) / stride;
  }
  TENON_HD int64_t of_level(int level) const {
    const int64_t stride = int64_t{4} << level;
    return positions(height, stride) * positions(width, stride) * 3;
  }
  TENON_HD int64_t count() const {
    int64_t sum = 0;
    for (int level = 0; level < kLevels; ++level) sum += of_level(level);
    return sum;
  }
  TENON_HD Box operator()(int64_t i) const {
    int level = 0;
    for (; level + 1 < kLevels && i >= of_level(level); ++level) i -= of_level(level);
    const int64_t stride = int64_t{4} << level, across = positions(width, stride);
    const auto y = static_cast<float>(i / 3 / across * stride);
    const auto x = static_cast<float>(i / 3 % across * stride);
    const float root = sqrtf(i % 3 == 0 ? 0.5f : i % 3 == 1 ? 1.f : 2.f);
    const auto scale = static_cast<float>(int64_t{32} << level);
    const float tall = scale / root, wide = scale * root;
    const auto bottom = static_cast<float>(height - 1), right = static_cast<float>(width - 1);
    return {(y - tall / 2) / bottom, (x - wide / 2) / right, (y + tall / 2 - 1) / bottom,
            (x + wide / 2 - 1) / right};
  }
};

template <class E> struct PyramidProposal {
  const E *scores, *deltas;
  float *boxes, *kept_scores;
  PyramidAnchors anchors;
  int64_t count;

  TENON_HD void operator()(int64_t i) const {
    float delta[4];
    for (int k = 0; k < 4; ++k) delta[k] = static_cast<float>(deltas[i * 4 + k]);
    store(boxes + i * 4, MovedBox{1, 1}(anchors(i % count), delta));
    kept_scores[i] = static_cast<float>(scores[i * 2 + 1]);
  }
};

struct ProposalLayer {
  int32_t considered = 0, rows = 0;
  float overlap = 0;
  std::vector<int32_t> image_size = {3, 1024, 1024};

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("prenms_topk", &ProposalLayer::considered)
          .required()
          .says("so many of the best boxes are looked at; 0 or less: all"),
      attribute("keep_topk", &ProposalLayer::rows).required().says("rows of the result"),
      attribute("iou_threshold", &ProposalLayer::overlap)
          .required()
          .says("overlap above which a box is dropped"),
      attribute("image_size", &ProposalLayer::image_size).says("channels, height and width")};
  static constexpr Spec spec{
      .name = "ProposalLayer_TRT",
      .inputs = {{"object_score", kT}, {"delta", kT}},
      .outputs = {{"proposals", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Keras' Mask R-CNN: of its anchors, scores (N, anchors, 2, 1) of background and "
          "foreground and deltas (N, anchors, 4, 1), the keep_topk best boxes (N, keep_topk, 4) "
          "after non-maximum suppression, y1, x1, y2, x2 as parts of the image. Rows that are left "
          "are 0.",
      .differs =
          "prenms_topk has no limit, scores below 0.01 count, and the deltas stay as they are. "
          "Dynamic batches. float16."};

  void prepare() const {
    require_image(image_size);
    require_overlap(overlap);
    if (rows < 1)
      throw std::invalid_argument("keep_topk must be at least 1, found " + std::to_string(rows));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = {in[0].at(0), rows, 4};
  }
  void check(std::span<const Shape> in) const {
    const int64_t images = in[0].rank() > 0 ? in[0][0] : 0;
    require_list("object_score", in[0], images, anchors().count(), 2);
    require_list("delta", in[1], images, anchors().count(), 4);
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    CandidateNms(carver, {in[0][0], anchors().count(), 1}, rule());
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> scores, Tensor<const E> deltas,
           Tensor<E> out) const {
    const int64_t images = scores.shape[0], count = anchors().count();
    Carver carver(device.workspace);
    CandidateNms nms(carver, {images, count, 1}, rule());
    device.parallel_for(images * count, PyramidProposal<E>{scores.data, deltas.data, nms.boxes(),
                                                           nms.scores(), anchors(), count});
    const KeptLists& lists = nms.run(device);
    write_best(device, lists, rows, BoxRows<E>{nms.boxes(), lists, out.data, count, rows});
  }

 private:
  PyramidAnchors anchors() const { return {image_size[1], image_size[2]}; }
  NmsRule rule() const { return proposal_rule(considered, rows, overlap); }
};
TENON_PLUGIN(ProposalLayer);

// Anchors of one map of TAO's Mask R-CNN, in pixels: around the middles of its places.
struct LevelAnchors {
  int64_t height, width, stride;

  TENON_HD int64_t positions(int64_t extent) const {
    return extent > stride / 2 ? (extent - stride / 2 + stride - 1) / stride : 0;
  }
  TENON_HD int64_t count() const { return positions(height) * positions(width) * 3; }
  TENON_HD Box operator()(int64_t i) const {
    const int64_t across = positions(width);
    const auto y = static_cast<float>(i / 3 / across * stride + stride / 2);
    const auto x = static_cast<float>(i / 3 % across * stride + stride / 2);
    const float scale = 8 * static_cast<float>(stride);
    const float tall = scale * (i % 3 == 0 ? 1.f : i % 3 == 1 ? 0.7f : 1.4f) / 2;
    const float wide = scale * (i % 3 == 0 ? 1.f : i % 3 == 1 ? 1.4f : 0.7f) / 2;
    return {y - tall, x - wide, y + tall, x + wide};
  }
};

template <class E> struct LevelProposal {
  const E *deltas, *scores;
  float *boxes, *kept_scores;
  LevelAnchors anchors;
  int64_t count;

  TENON_HD void operator()(int64_t i) const {
    float delta[4];
    for (int k = 0; k < 4; ++k) delta[k] = static_cast<float>(deltas[i * 4 + k]);
    const MovedBox moved{static_cast<float>(anchors.height - 1),
                         static_cast<float>(anchors.width - 1), 1};
    store(boxes + i * 4, moved(anchors(i % count), delta));
    kept_scores[i] = static_cast<float>(scores[i]);
  }
};

// What is kept of a level goes among the candidates of all.
struct LevelRows {
  const float* boxes;
  KeptLists lists;
  float *out_boxes, *out_scores;
  int64_t count, rows, level, levels;

  TENON_HD int64_t at(int64_t image, int64_t row) const {
    return (image * levels + level) * rows + row;
  }
  TENON_HD void counted(int64_t, int64_t) const {}
  TENON_HD void found(int64_t image, int64_t row, ScoreKey key) const {
    const float* b = boxes + (image * count + lists.box_of(key)) * 4;
    store(out_boxes + at(image, row) * 4, {b[0], b[1], b[2], b[3]});
    out_scores[at(image, row)] = key.score();
  }
  TENON_HD void missing(int64_t image, int64_t row) const { out_scores[at(image, row)] = NAN; }
};

struct MultilevelProposeRoi {
  int32_t considered = 0, rows = 0;
  float foreground = 0, overlap = 0;
  std::vector<int32_t> image_size = {3, 832, 1344};

  using T = Types<float, Half>;
  static constexpr int64_t kLevels = 5;
  static constexpr auto attributes = std::tuple{
      attribute("prenms_topk", &MultilevelProposeRoi::considered)
          .required()
          .says("of each map, so many of the best boxes are looked at; 0 or less: all"),
      attribute("keep_topk", &MultilevelProposeRoi::rows).required().says("rows of the result"),
      attribute("fg_threshold", &MultilevelProposeRoi::foreground).says("scores must not be below"),
      attribute("iou_threshold", &MultilevelProposeRoi::overlap)
          .required()
          .says("overlap above which a box is dropped"),
      attribute("image_size", &MultilevelProposeRoi::image_size)
          .says("channels, height and width")};
  static constexpr Spec spec{
      .name = "MultilevelProposeROI_TRT",
      .inputs = {{"deltas_and_scores", kT, kRepeated}},
      .outputs = {{"proposals", kT}},
      .protocol = Protocol::kV2,
      .text =
          "TAO's Mask R-CNN: of its anchors on five maps of strides 4 to 64, deltas (N, anchors, "
          "4, 1) and scores (N, anchors, 1, 1) of each map in turn, the keep_topk best boxes (N, "
          "keep_topk, 4) after non-maximum suppression within each map, y1, x1, y2, x2 in pixels. "
          "Rows that are left are 0.",
      .differs =
          "prenms_topk has no limit, scores below 0.01 count, and the deltas stay as they are. "
          "Dynamic batches."};

  void prepare() const {
    require_image(image_size);
    require_overlap(overlap);
    if (rows < 1)
      throw std::invalid_argument("keep_topk must be at least 1, found " + std::to_string(rows));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in.size() != 2 * kLevels)
      throw std::invalid_argument("expected deltas and scores of 5 maps, found "
                                  + std::to_string(in.size()) + " inputs");
    out[0] = {in[0].at(0), rows, 4};
  }
  void check(std::span<const Shape> in) const {
    const int64_t images = in[0].rank() > 0 ? in[0][0] : 0;
    for (size_t level = 0; level < kLevels; ++level) {
      require_list("deltas", in[2 * level], images, anchors(level).count(), 4);
      require_list("scores", in[2 * level + 1], images, anchors(level).count(), 1);
    }
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    const int64_t images = in[0][0];
    Carver all;
    CandidateNms(all, all_shape(images), all_rule());
    size_t largest = 0;
    for (size_t level = 0; level < kLevels; ++level) {
      Carver carver;
      CandidateNms(carver, {images, anchors(level).count(), 1}, rule());
      largest = std::max(largest, carver.bytes());
    }
    return all.bytes() + largest;
  }
  template <class E> void run(const Device& device, Tensors<const E> in, Tensor<E> out) const {
    const int64_t images = out.shape[0];
    Carver carver(device.workspace);
    CandidateNms all(carver, all_shape(images), all_rule());
    char* const rest = carver.array<char>(0);
    for (int level = 0; level < kLevels; ++level) {
      const LevelAnchors of_map = anchors(static_cast<size_t>(level));
      const int64_t count = of_map.count();
      Carver of_level(rest);
      CandidateNms nms(of_level, {images, count, 1}, rule());
      device.parallel_for(images * count,
                          LevelProposal<E>{in[2 * level].data, in[2 * level + 1].data, nms.boxes(),
                                           nms.scores(), of_map, count});
      const KeptLists& lists = nms.run(device);
      write_best(
          device, lists, rows,
          LevelRows{nms.boxes(), lists, all.boxes(), all.scores(), count, rows, level, kLevels});
    }
    const KeptLists& lists = all.run(device);
    write_best(device, lists, rows, BoxRows<E>{all.boxes(), lists, out.data, kLevels * rows, rows});
  }

 private:
  LevelAnchors anchors(size_t level) const {
    return {image_size[1], image_size[2], int64_t{4} << level};
  }
  NmsRule rule() const { return proposal_rule(considered, rows, overlap, just_below(foreground)); }
  NmsShape all_shape(int64_t images) const { return {images, kLevels * rows, 1}; }
  NmsRule all_rule() const { return {.overlap = INFINITY, .max_boxes = rows}; }
};
TENON_PLUGIN(MultilevelProposeRoi);

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
    float delta[4], roi[4];
    for (int64_t k = 0; k < 4; ++k) {
      delta[k] = static_cast<float>(deltas[(i * classes + best) * 4 + k]);
      roi[k] = static_cast<float>(rois[i * 4 + k]);
    }
    store(boxes + i * 4, moved({roi[0], roi[1], roi[2], roi[3]}, delta));
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
    if (classes < 1 || rows < 1)
      throw std::invalid_argument("num_classes and keep_topk must be at least 1, found "
                                  + std::to_string(classes) + " and " + std::to_string(rows));
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
    Carver carver;
    CandidateNms(carver, {in[2][0], in[2][1], classes}, rule());
    return carver.bytes();
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
    detect<E>(device,
              {static_cast<float>(image_size[1] - 1), static_cast<float>(image_size[2] - 1), 1},
              true, deltas, scores, rois, out);
  }
};
TENON_PLUGIN(GenerateDetection);

// Anchors around the middles of a map's places, in pixels.
template <class E> struct RegionProposal {
  const E *scores, *deltas;
  const float *sizes, *ratios;
  float *boxes, *kept_scores;
  int64_t anchors, ratio_count, height, width;
  float stride, bottom, right, min_size;

  TENON_HD void operator()(int64_t i) const {
    const int64_t plane = height * width, at = i % plane, anchor = i / plane % anchors;
    const int64_t image = i / (plane * anchors);
    const E* const d = deltas + (image * anchors + anchor) * 4 * plane + at;
    const float size = sizes[anchor / ratio_count], ratio = ratios[anchor % ratio_count];
    const float wide = size * ratio, tall = size / ratio;
    const auto delta = [&](int64_t k) { return static_cast<float>(d[k * plane]); };
    const float x = (static_cast<float>(at % width) + 0.5f) * stride + wide * delta(0);
    const float y = (static_cast<float>(at / width) + 0.5f) * stride + tall * delta(1);
    const float right_half = expf(delta(2)) * wide / 2, bottom_half = expf(delta(3)) * tall / 2;
    const auto clip = [](float v, float high) { return fminf(fmaxf(v, 0.f), high); };
    const Box b{clip(y - bottom_half, bottom), clip(x - right_half, right),
                clip(y + bottom_half, bottom), clip(x + right_half, right)};
    store(boxes + i * 4, b);
    const bool is_large = b.x2 - b.x1 > min_size && b.y2 - b.y1 > min_size;
    kept_scores[i] = is_large ? static_cast<float>(scores[i]) : NAN;
  }
};

struct Proposal {
  int32_t input_height = 0, input_width = 0, stride = 16, considered = 0, rows = 0;
  float min_size = 0, overlap = 0;
  std::vector<float> sizes, ratios;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("input_height", &Proposal::input_height).required().says("of the image, in pixels"),
      attribute("input_width", &Proposal::input_width).required().says("of the image, in pixels"),
      attribute("rpn_stride", &Proposal::stride).required().says("pixels from place to place"),
      attribute("roi_min_size", &Proposal::min_size)
          .required()
          .says("pixels that a box must be larger than"),
      attribute("nms_iou_threshold", &Proposal::overlap)
          .required()
          .says("overlap above which a box is dropped"),
      attribute("pre_nms_top_n", &Proposal::considered)
          .required()
          .says("so many of the best boxes are looked at; 0 or less: all"),
      attribute("post_nms_top_n", &Proposal::rows).required().says("rows of the result"),
      attribute("anchor_sizes", &Proposal::sizes).required().says("in pixels"),
      attribute("anchor_ratios", &Proposal::ratios)
          .required()
          .says("roots of width by height: a width is size * ratio, a height size / ratio")};
  static constexpr Spec spec{
      .name = "ProposalDynamic",
      .inputs = {{"scores", kT}, {"deltas", kT}},
      .outputs = {{"rois", kFloat}},
      .protocol = Protocol::kV2,
      .text =
          "Faster R-CNN's proposals: of anchors around the places of a map, scores (N, A, H, W) "
          "and deltas (N, A * 4, H, W) of x, y, width and height, the post_nms_top_n best boxes "
          "(N, post_nms_top_n, 4, 1) after non-maximum suppression, y1, x1, y2, x2 as parts of the "
          "image. Rows that are left are 0.",
      .differs = "pre_nms_top_n has no limit. float16."};

  void prepare() const {
    require_overlap(overlap);
    if (input_height < 2 || input_width < 2 || stride < 1 || rows < 1)
      throw std::invalid_argument(
          "input_height and input_width must be at least 2, rpn_stride and post_nms_top_n at least "
          "1, found "
          + std::to_string(input_height) + ", " + std::to_string(input_width) + ", "
          + std::to_string(stride) + " and " + std::to_string(rows));
    if (sizes.empty() || ratios.empty())
      throw std::invalid_argument("anchor_sizes and anchor_ratios must have elements");
    for (const float ratio : ratios)
      if (!(ratio > 0))
        throw std::invalid_argument("anchor_ratios must be positive, found "
                                    + std::to_string(ratio));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = {in[0].at(0), rows, 4, 1};
  }
  void check(std::span<const Shape> in) const {
    const Shape &scores = in[0], &deltas = in[1];
    const bool fits = scores.rank() == 4 && deltas.rank() == 4 && scores[1] == anchors()
                      && deltas[1] == anchors() * 4 && deltas[0] == scores[0]
                      && deltas[2] == scores[2] && deltas[3] == scores[3];
    if (!fits)
      throw std::invalid_argument("scores " + text_of(scores) + " and deltas " + text_of(deltas)
                                  + " do not fit; expected (N, " + std::to_string(anchors())
                                  + ", H, W) and (N, " + std::to_string(anchors() * 4) + ", H, W)");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    carver.array<float>(length(sizes));
    carver.array<float>(length(ratios));
    CandidateNms(carver, shape_of(in[0]), rule());
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> scores, Tensor<const E> deltas,
           Tensor<float> out) const {
    Carver carver(device.workspace);
    const float* size =
        device.constants(sizes.data(), length(sizes), carver.array<float>(length(sizes)));
    const float* ratio =
        device.constants(ratios.data(), length(ratios), carver.array<float>(length(ratios)));
    const NmsShape shape = shape_of(scores.shape);
    CandidateNms nms(carver, shape, rule());
    const auto bottom = static_cast<float>(input_height - 1);
    const auto right = static_cast<float>(input_width - 1);
    device.parallel_for(
        shape.images * shape.boxes,
        RegionProposal<E>{scores.data, deltas.data, size, ratio, nms.boxes(), nms.scores(),
                          anchors(), length(ratios), scores.shape[2], scores.shape[3],
                          static_cast<float>(stride), bottom, right, min_size});
    const KeptLists& lists = nms.run(device, 1);
    write_best(
        device, lists, rows,
        BoxRows<float>{nms.boxes(), lists, out.data, shape.boxes, rows, 1 / bottom, 1 / right});
  }

 private:
  static int64_t length(const std::vector<float>& list) {
    return static_cast<int64_t>(list.size());
  }
  int64_t anchors() const { return length(sizes) * length(ratios); }
  NmsShape shape_of(const Shape& scores) const {
    return {scores[0], scores[1] * scores[2] * scores[3], 1};
  }
  NmsRule rule() const { return proposal_rule(considered, rows, overlap); }
};
TENON_PLUGIN(Proposal);
TENON_PLUGIN_AS(Proposal, "Proposal");

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
