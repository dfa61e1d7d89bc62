// MultilevelProposeROI_TRT 1 (TensorRT): proposals of TAO's Mask R-CNN. Exact and deterministic: of
// equal scores the first comes first.
#include <tenon/kernels/candidate_nms.h>
#include <tenon/kernels/moved_box.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

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
  MovedBox moved;
  LevelAnchors anchors;
  int64_t count;

  TENON_HD void operator()(int64_t i) const {
    store(boxes + i * 4, moved(anchors(i % count), deltas + i * 4));
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
    require_at_least("keep_topk", rows, 1);
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
    size_t largest = 0;
    for (size_t level = 0; level < kLevels; ++level)
      largest = std::max(largest, CandidateNms::bytes({images, anchors(level).count(), 1}, rule()));
    return CandidateNms::bytes(all_shape(images), all_rule()) + largest;
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
                                           nms.scores(), within_pixels(image_size), of_map, count});
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

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
