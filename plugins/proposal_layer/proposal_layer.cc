// ProposalLayer_TRT 1 (TensorRT): proposals of Keras' Mask R-CNN. Exact and deterministic: of equal
// scores the first comes first.
#include <tenon/kernels/candidate_nms.h>
#include <tenon/kernels/moved_box.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

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
    store(boxes + i * 4, MovedBox{1, 1}(anchors(i % count), deltas + i * 4));
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
    require_at_least("keep_topk", rows, 1);
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
    return CandidateNms::bytes({in[0][0], anchors().count(), 1}, rule());
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

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
