// Proposal and ProposalDynamic 1 (TensorRT): proposals of Faster R-CNN. Exact and deterministic: of
// equal scores the first comes first.
#include <tenon/kernels/candidate_nms.h>
#include <tenon/kernels/constants.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

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

  using T = Types<float, Half, BFloat16>;
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
    require_at_least("input_height", input_height, 2);
    require_at_least("input_width", input_width, 2);
    require_at_least("rpn_stride", stride, 1);
    require_at_least("post_nms_top_n", rows, 1);
    if (sizes.empty() || ratios.empty())
      throw std::invalid_argument("anchor_sizes and anchor_ratios must have elements");
    for (const float ratio : ratios)
      if (!(ratio > 0))
        throw std::invalid_argument("anchor_ratios must be positive, found "
                                    + std::to_string(ratio));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("scores", in[0], "N, A, H, W");
    require_axes("deltas", in[1], "N, A * 4, H, W");
    out[0] = {in[0][0], rows, 4, 1};
  }
  void check(std::span<const Shape> in) const {
    const Shape &scores = in[0], &deltas = in[1];
    const bool fits = scores[1] == anchors() && deltas[1] == anchors() * 4 && deltas[0] == scores[0]
                      && deltas[2] == scores[2] && deltas[3] == scores[3];
    if (!fits)
      throw std::invalid_argument("scores " + text_of(scores) + " and deltas " + text_of(deltas)
                                  + " do not fit; expected (N, " + std::to_string(anchors())
                                  + ", H, W) and (N, " + std::to_string(anchors() * 4) + ", H, W)");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    reserve_constants(carver, sizes, ratios);
    return carver.bytes() + CandidateNms::bytes(shape_of(in[0]), rule());
  }
  template <class E>
  void run(const Device& device, Tensor<const E> scores, Tensor<const E> deltas,
           Tensor<float> out) const {
    Carver carver(device.workspace);
    const float *size = constants_of(device, carver, sizes),
                *ratio = constants_of(device, carver, ratios);
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
