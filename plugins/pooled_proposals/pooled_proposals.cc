// RPROI_TRT 1 (TensorRT): Faster R-CNN's proposals, and the feature map pooled over each. Exact and
// deterministic: of equal scores the first comes first.
#include <tenon/kernels/candidate_nms.h>
#include <tenon/kernels/constants.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// Anchors around the middles of a map's cells, moved by deltas; corners x1, y1, x2, y2 in pixels.
template <class E> struct AnchorProposal {
  const E *scores, *deltas;
  const float *image_info, *widths, *heights;
  float *boxes, *kept_scores;
  int64_t anchors, height, width;
  float stride, min_size;

  TENON_HD void operator()(int64_t i) const {
    const int64_t plane = height * width, at = i % plane, anchor = i / plane % anchors;
    const int64_t image = i / (plane * anchors);
    const E* const d = deltas + (image * anchors + anchor) * 4 * plane + at;
    const auto delta = [&](int64_t k) { return static_cast<float>(d[k * plane]); };
    const auto info = [&](int64_t k) { return image_info[image * 3 + k]; };
    const float middle = (stride - 1) / 2, wide = widths[anchor], tall = heights[anchor];
    const float x = middle + static_cast<float>(at % width) * stride + delta(0) * wide;
    const float y = middle + static_cast<float>(at / width) * stride + delta(1) * tall;
    const float right = expf(delta(2)) * wide / 2, down = expf(delta(3)) * tall / 2;
    const auto clip = [](float v, float extent) { return fminf(fmaxf(v, 0.f), extent - 1); };
    const Box b{clip(x - right, info(1)), clip(y - down, info(0)), clip(x + right, info(1)),
                clip(y + down, info(0))};
    store(boxes + i * 4, b);
    const float smallest = min_size * info(2);
    const bool is_large = b.x2 - b.x1 + 1 >= smallest && b.y2 - b.y1 + 1 >= smallest;
    const int64_t object = (image * 2 + 1) * anchors + anchor;  // after those of the background
    kept_scores[i] = is_large ? static_cast<float>(scores[object * plane + at]) : NAN;
  }
};

// One element of the result: the largest of the elements that a bin touches.
template <class E> struct PooledBin {
  const E* map;
  const float* rois;
  E* y;
  int64_t rows, channels, height, width, pooled_height, pooled_width;
  float scale;

  struct Range {
    int64_t begin, end;
  };
  TENON_HD static Range range(float low, float high, int64_t bin, int64_t bins, int64_t extent) {
    const float length = fmaxf(high - low + 1, 1.f), size = length / static_cast<float>(bins);
    const auto inside = [&](float v) {
      return static_cast<int64_t>(fminf(fmaxf(v + low, 0.f), static_cast<float>(extent)));
    };
    return {inside(floorf(static_cast<float>(bin) * size)),
            inside(ceilf(static_cast<float>(bin + 1) * size))};
  }
  TENON_HD void operator()(int64_t i) const {
    const int64_t column = i % pooled_width, row = i / pooled_width % pooled_height;
    const int64_t channel = i / (pooled_width * pooled_height) % channels;
    const int64_t roi = i / (pooled_width * pooled_height * channels);
    const auto corner = [&](int64_t k) { return roundf(rois[roi * 4 + k] * scale); };
    const Range across = range(corner(0), corner(2), column, pooled_width, width);
    const Range down = range(corner(1), corner(3), row, pooled_height, height);
    const E* const plane = map + (roi / rows * channels + channel) * height * width;
    float largest = -INFINITY;
    for (int64_t r = down.begin; r < down.end; ++r)
      for (int64_t c = across.begin; c < across.end; ++c)
        largest = fmaxf(largest, static_cast<float>(plane[r * width + c]));
    const bool is_empty = down.begin >= down.end || across.begin >= across.end;
    y[i] = static_cast<E>(is_empty ? 0.f : largest);
  }
};

struct PooledProposals {
  int32_t pooled_height = 0, pooled_width = 0, stride = 0, considered = 0, rows = 0;
  int32_t ratio_count = 0, scale_count = 0;
  float overlap = 0, min_size = 0, spatial_scale = 0;
  std::vector<float> ratios, scales;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("poolingH", &PooledProposals::pooled_height).required().says("rows of pfmap"),
      attribute("poolingW", &PooledProposals::pooled_width).required().says("columns of pfmap"),
      attribute("featureStride", &PooledProposals::stride)
          .required()
          .says("pixels from cell to cell, and the size that anchorsScales multiplies"),
      attribute("preNmsTop", &PooledProposals::considered)
          .required()
          .says("so many of the best boxes are looked at; 0 or less: all"),
      attribute("nmsMaxOut", &PooledProposals::rows).required().says("proposals of an image"),
      attribute("anchorsRatioCount", &PooledProposals::ratio_count)
          .says("as many as anchorsRatios has; 0: not told"),
      attribute("anchorsScaleCount", &PooledProposals::scale_count)
          .says("as many as anchorsScales has; 0: not told"),
      attribute("iouThreshold", &PooledProposals::overlap)
          .required()
          .says("overlap above which a box is dropped"),
      attribute("minBoxSize", &PooledProposals::min_size)
          .required()
          .says("times the scale of iinfo: pixels that a box must have in both directions"),
      attribute("spatialScale", &PooledProposals::spatial_scale)
          .required()
          .says("cells of fmap for a pixel: 1 / featureStride"),
      attribute("anchorsRatios", &PooledProposals::ratios).required().says("height by width"),
      attribute("anchorsScales", &PooledProposals::scales).required()};
  static constexpr Spec spec{
      .name = "RPROI_TRT",
      .inputs = {{"scores", kT}, {"deltas", kT}, {"fmap", kT}, {"iinfo", kFloat}},
      .outputs = {{"rois", kFloat}, {"pfmap", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Faster R-CNN's proposals and RoI pooling (Ren et al. 2015): of anchors around the cells "
          "of a map, scores (N, 2 * A, H, W) of background and then object, and deltas (N, A * 4, "
          "H, W) of x, y, width and height, the nmsMaxOut best boxes (N, 1, nmsMaxOut, 4) after "
          "non-maximum suppression, x1, y1, x2, y2 in pixels of an image, whose height, width and "
          "scale iinfo (N, ..., 3) has; and fmap (N, C, H, W) pooled by maxima over each (N, "
          "nmsMaxOut, C, poolingH, poolingW). Rows that are left are 0, and pooled as such a box.",
      .differs =
          "Maps of any size, dynamic shapes, and a minBoxSize that is not featureStride. "
          "Boxes that are too small are never proposed. float16."};

  void prepare() {
    require_overlap(overlap);
    for (const auto& [name, value] : {std::pair{"poolingH", pooled_height},
                                      {"poolingW", pooled_width},
                                      {"featureStride", stride},
                                      {"nmsMaxOut", rows}})
      require_at_least(name, value, 1);
    require_positive("spatialScale", spatial_scale);
    if (!(min_size >= 0))
      throw std::invalid_argument("minBoxSize must be 0 or more, found "
                                  + std::to_string(min_size));
    require_positive("anchorsRatios", ratios, ratio_count);
    require_positive("anchorsScales", scales, scale_count);
    const auto size = static_cast<float>(stride);
    for (const float ratio : ratios)
      for (const float scale : scales) {
        const float wide = std::round(std::sqrt(size * size / ratio));
        widths_.push_back(wide * scale);
        heights_.push_back(std::round(wide * ratio) * scale);
      }
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("scores", in[0], "N, 2 * A, H, W");
    require_axes("fmap", in[2], "N, C, H, W");
    out[0] = {in[0][0], 1, rows, 4};
    out[1] = {in[0][0], rows, in[2][1], pooled_height, pooled_width};
  }
  void check(std::span<const Shape> in) const {
    const int64_t images = in[0][0], height = in[0][2], width = in[0][3];
    require_shape("scores", in[0], {images, 2 * anchors(), height, width});
    require_shape("deltas", in[1], {images, 4 * anchors(), height, width});
    require_shape("fmap", in[2], {images, in[2][1], height, width});
    if (in[3].rank() < 2 || in[3][0] != images || in[3].volume() != images * 3)
      throw std::invalid_argument("iinfo must have 3 numbers for each of " + std::to_string(images)
                                  + " images, found " + text_of(in[3]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    reserve_constants(carver, widths_, heights_);
    return carver.bytes() + CandidateNms::bytes(shape_of(in[0]), rule());
  }
  template <class E>
  void run(const Device& device, Tensor<const E> scores, Tensor<const E> deltas,
           Tensor<const E> map, Tensor<const float> image_info, Tensor<float> rois,
           Tensor<E> y) const {
    Carver carver(device.workspace);
    const float *widths = constants_of(device, carver, widths_),
                *heights = constants_of(device, carver, heights_);
    const NmsShape shape = shape_of(scores.shape);
    CandidateNms nms(carver, shape, rule());
    device.parallel_for(
        shape.images * shape.boxes,
        AnchorProposal<E>{scores.data, deltas.data, image_info.data, widths, heights, nms.boxes(),
                          nms.scores(), anchors(), scores.shape[2], scores.shape[3],
                          static_cast<float>(stride), min_size});
    const KeptLists& lists = nms.run(device, 1);
    write_best(device, lists, rows,
               BoxRows<float>{nms.boxes(), lists, rois.data, shape.boxes, rows});
    device.parallel_for(y.shape.volume(),
                        PooledBin<E>{map.data, rois.data, y.data, rows, map.shape[1], map.shape[2],
                                     map.shape[3], pooled_height, pooled_width, spatial_scale});
  }

 private:
  static void require_positive(const char* name, float value) {
    if (!(value > 0 && std::isfinite(value)))
      throw std::invalid_argument(std::string(name) + " must be positive, found "
                                  + std::to_string(value));
  }
  static void require_positive(const char* name, const std::vector<float>& list, int32_t count) {
    if (count != 0) require_elements(name, list.size(), static_cast<size_t>(count));
    if (list.empty()) throw std::invalid_argument(std::string(name) + " must have elements");
    for (const float value : list) require_positive(name, value);
  }
  int64_t anchors() const { return static_cast<int64_t>(widths_.size()); }
  NmsShape shape_of(const Shape& scores) const {
    return {scores[0], anchors() * scores[2] * scores[3], 1};
  }
  NmsRule rule() const { return proposal_rule(considered, rows, overlap); }

  std::vector<float> widths_, heights_;  // of anchors, in pixels
};
TENON_PLUGIN(PooledProposals);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
