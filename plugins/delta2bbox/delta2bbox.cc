// Delta2BBoxPluginDynamic 1 (amirstan): mmdet's delta2bbox, with rows for later plugins that want
// many.
#include <tenon/kernels/elementary.h>
#include <tenon/kernels/move_rows.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

struct DeltaScale {
  float mean[4], deviation[4];
};

// One box of one class; those behind the last are 0.
template <class E> struct DecodedBox {
  const E *deltas, *anchors;
  const int32_t* range;  // height and width, or null
  E* boxes;
  DeltaScale scale;
  int64_t count, rows, classes;

  TENON_HD void operator()(int64_t image, int64_t at) const {
    const int64_t row = at / classes, kind = at % classes;
    E* const to = boxes + (image * rows * classes + at) * 4;
    if (row >= count) {
      for (int k = 0; k < 4; ++k) to[k] = static_cast<E>(0.f);
      return;
    }
    float d[4], a[4];
    for (int k = 0; k < 4; ++k) {
      d[k] = static_cast<float>(deltas[((image * count + row) * classes + kind) * 4 + k])
                 * scale.deviation[k]
             + scale.mean[k];
      a[k] = static_cast<float>(anchors[row * 4 + k]);
    }
    constexpr float kMax = 4.135166556742356f;  // the logarithm of 1000 / 16
    const float width = a[2] - a[0], height = a[3] - a[1];
    const float x = (a[0] + a[2]) / 2 + width * d[0], y = (a[1] + a[3]) / 2 + height * d[1];
    const float right = width * kernels::exponential(fminf(fmaxf(d[2], -kMax), kMax)) / 2;
    const float down = height * kernels::exponential(fminf(fmaxf(d[3], -kMax), kMax)) / 2;
    const float corners[] = {x - right, y - down, x + right, y + down};
    for (int k = 0; k < 4; ++k) {
      float at = corners[k];
      if (range != nullptr)
        at = fmaxf(0.f, fminf(at, static_cast<float>(range[k % 2 == 0 ? 1 : 0] - 1)));
      to[k] = static_cast<E>(at);
    }
  }
};

// Those behind the last box are 0.
template <class E> struct PaddedScore {
  E* to;
  int64_t step;  // from image to image
  TENON_HD void operator()(int64_t image, int64_t i) const {
    to[image * step + i] = static_cast<E>(0.f);
  }
};

struct Delta2BBox {
  int32_t min_rows = 1000;
  std::vector<float> means = {0, 0, 0, 0}, deviations = {1, 1, 1, 1};

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("min_num_bbox", &Delta2BBox::min_rows)
                     .says("rows of the results, if boxes are fewer"),
                 attribute("target_means", &Delta2BBox::means),
                 attribute("target_stds", &Delta2BBox::deviations)};
  static constexpr Spec spec{
      .name = "Delta2BBoxPluginDynamic",
      .inputs = {{"scores", kT},
                 {"deltas", kT},
                 {"anchors", kT},
                 {"clip_range", kInt32, kOptional}},
      .outputs = {{"padded_scores", kT}, {"boxes", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmdet's delta2bbox: anchors (B, 4) moved by deltas (N, B, K * 4), clipped to a height "
          "and width. Scores (N, B, C) and boxes have max(B, min_num_bbox) rows; those that are "
          "left are 0.",
      .differs =
          "Deltas of sizes are clamped as mmdet does; there the clamped ones are not used. Every "
          "image of a batch is padded. float16 and bfloat16."};

  void prepare() const {
    require_elements("target_means", means.size(), 4);
    require_elements("target_stds", deviations.size(), 4);
    require_at_least("min_num_bbox", min_rows, 0);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("scores", in[0], "N, B, C");
    require_axes("deltas", in[1], "N, B, K * 4");
    const Extent rows = max(in[0][1], Extent(min_rows));
    out[0] = {in[0][0], rows, in[0][2]};
    out[1] = {in[0][0], rows, in[1][2]};
  }
  void check(std::span<const Shape> in) const {
    const Shape &scores = in[0], &deltas = in[1], &anchors = in[2];
    const bool fits = deltas[0] == scores[0] && deltas[1] == scores[1] && deltas[2] % 4 == 0
                      && anchors.rank() >= 2 && anchors[anchors.rank() - 1] == 4
                      && anchors.volume() == scores[1] * 4;
    if (!fits)
      throw std::invalid_argument("scores " + text_of(scores) + ", deltas " + text_of(deltas)
                                  + " and anchors " + text_of(anchors)
                                  + " do not fit; expected (N, B, C), (N, B, K * 4) and (B, 4)");
    if (in.size() > 3 && in[3].volume() < 2)
      throw std::invalid_argument("clip_range must have 2 elements, found " + text_of(in[3]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> scores, Tensor<const E> deltas,
           Tensor<const E> anchors, Tensor<const int32_t> range, Tensor<E> padded,
           Tensor<E> boxes) const {
    const int64_t count = scores.shape[1], rows = padded.shape[1];
    DeltaScale scale;
    std::copy(means.begin(), means.end(), scale.mean);
    std::copy(deviations.begin(), deviations.end(), scale.deviation);
    const int64_t images = scores.shape[0], classes = deltas.shape[2] / 4;
    const int64_t held = count * scores.shape[2], all = rows * scores.shape[2];
    kernels::move_rows(device, scores.data, held, images, held, padded.data, all);
    device.parallel_grid(images, all - held, PaddedScore<E>{padded.data + held, all});
    device.parallel_grid(images, rows * classes,
                         DecodedBox<E>{deltas.data, anchors.data, range.data, boxes.data, scale,
                                       count, rows, classes});
  }
};
TENON_PLUGIN(Delta2BBox);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
