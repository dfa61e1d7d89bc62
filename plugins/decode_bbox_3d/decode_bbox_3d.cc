// DecodeBbox3DPlugin 1 (TensorRT): what PointPillars' heads say. Always in the same order: boxes
// come as the inputs have them.
#include <tenon/kernels/constants.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// The boxes of a frame whose score is high enough, in the order of pixels and anchors.
struct DecodeFrame {
  const float *classes, *boxes, *directions, *anchors, *bottoms;
  float* out;
  int32_t* counts;
  int64_t height, width, anchor_count, class_count;
  float low_x, high_x, low_y, high_y, direction_offset, limit_offset, threshold, period;

  TENON_HD int64_t candidates() const { return height * width * anchor_count; }
  TENON_HD float best(int64_t frame, int64_t i, int64_t* kind) const {
    const float* scores = classes + (frame * candidates() + i) * class_count;
    *kind = 0;
    for (int64_t k = 1; k < class_count; ++k)
      if (scores[k] > scores[*kind]) *kind = k;
    return 1 / (1 + expf(-scores[*kind]));
  }
  TENON_HD static float position(float low, float high, int64_t at, int64_t extent) {
    return extent > 1 ? low + static_cast<float>(at) * (high - low) / static_cast<float>(extent - 1)
                      : low;
  }
  TENON_HD void put(int64_t frame, int64_t i, int64_t row) const {
    const int64_t anchor = i % anchor_count, pixel = i / anchor_count;
    const float* const a = anchors + anchor * 4;
    const float* const b = boxes + (frame * candidates() + i) * 7;
    const float* const d = directions + (frame * candidates() + i) * 2;
    float* const to = out + (frame * candidates() + row) * 9;
    const float diagonal = sqrtf(a[0] * a[0] + a[1] * a[1]);
    to[0] = b[0] * diagonal + position(low_x, high_x, pixel % width, width);
    to[1] = b[1] * diagonal + position(low_y, high_y, pixel / width, height);
    to[2] = b[2] * a[2] + a[2] / 2 + bottoms[anchor / 2];
    for (int k = 0; k < 3; ++k) to[3 + k] = expf(b[3 + k]) * a[k];
    const float rotated = b[6] + a[3] - direction_offset;
    const float rest = rotated - floorf(rotated / period + limit_offset) * period;
    to[6] = rest + direction_offset + (d[0] > d[1] ? 0.f : period);
    int64_t kind;
    to[8] = best(frame, i, &kind);
    to[7] = static_cast<float>(kind);
  }
  TENON_DEVICE void operator()(const Team& team, int64_t frame) const {
    const auto is_found = [&](int64_t i) {
      int64_t kind;
      return best(frame, i, &kind) >= threshold;
    };
    team.each(candidates() * 9, [&](int64_t i) { out[frame * candidates() * 9 + i] = 0; });
    team.each(1, [&](int64_t) { counts[frame] = 0; });
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
    team.scan(
        candidates(), int64_t{0}, [](int64_t x, int64_t y) { return x + y; },
        [&](int64_t i) { return int64_t{is_found(i)}; },
        [&](int64_t i, int64_t so_far) {
          if (is_found(i)) put(frame, i, so_far - 1);
          if (i + 1 == candidates()) counts[frame] = static_cast<int32_t>(so_far);
        });
  }
};

struct DecodeBbox3d {
  std::vector<float> range, anchors, bottoms;
  float direction_offset = 0.78539f, limit_offset = 0, threshold = 0;
  int32_t direction_bins = 2;

  static constexpr auto attributes = std::tuple{
      attribute("point_cloud_range", &DecodeBbox3d::range)
          .required()
          .says("the least x, y and z, then the largest"),
      attribute("anchors", &DecodeBbox3d::anchors)
          .required()
          .says("length, width, height and angle, of two anchors for each class"),
      attribute("anchor_bottom_height", &DecodeBbox3d::bottoms)
          .required()
          .says("z, for each class"),
      attribute("dir_offset", &DecodeBbox3d::direction_offset),
      attribute("dir_limit_offset", &DecodeBbox3d::limit_offset),
      attribute("num_dir_bins", &DecodeBbox3d::direction_bins),
      attribute("score_thresh", &DecodeBbox3d::threshold).says("scores must not be below")};
  static constexpr Spec spec{
      .name = "DecodeBbox3DPlugin",
      .inputs = {{"classes", kFloat}, {"boxes", kFloat}, {"directions", kFloat}},
      .outputs = {{"detections", kFloat}, {"num_detections", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "PointPillars' heads (N, H, W, anchors * numbers), with 7 numbers of a box and 2 of its "
          "direction, as rows (N, H * W * anchors, 9) of x, y, z, length, width, height, angle, "
          "class and score, and how many there are (N). Rows that are left are 0.",
      .differs =
          "Rows are in the order of pixels and anchors: always the same. A single row or column "
          "works."};

  void prepare() const {
    require_elements("point_cloud_range", range.size(), 6);
    if (bottoms.empty() || anchors.size() != bottoms.size() * 8)
      throw std::invalid_argument(
          "expected 8 numbers of anchors for each anchor_bottom_height, found "
          + std::to_string(anchors.size()) + " and " + std::to_string(bottoms.size()));
    require_at_least("num_dir_bins", direction_bins, 1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("classes", in[0], "N, H, W, numbers");
    out[0] = {in[0][0], in[0][1] * in[0][2] * count(), 9};
    out[1] = {in[0][0]};
  }
  void check(std::span<const Shape> in) const {
    const int64_t numbers[] = {count() * classes(), count() * 7, count() * 2};
    for (size_t i = 0; i < 3; ++i)
      require_shape(spec.inputs[i].name, in[i], {in[0][0], in[0][1], in[0][2], numbers[i]});
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    Carver carver;
    reserve_constants(carver, anchors, bottoms);
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const float> scores, Tensor<const float> boxes,
           Tensor<const float> directions, Tensor<float> detections, Tensor<int32_t> found) const {
    Carver carver(device.workspace);
    const float *at = constants_of(device, carver, anchors),
                *bottom = constants_of(device, carver, bottoms);
    constexpr float kTurn = 6.283185307179586f;
    device.parallel_rows(
        scores.shape[0],
        DecodeFrame{scores.data, boxes.data, directions.data, at, bottom, detections.data,
                    found.data, scores.shape[1], scores.shape[2], count(), classes(), range[0],
                    range[3], range[1], range[4], direction_offset, limit_offset, threshold,
                    kTurn / static_cast<float>(direction_bins)});
  }

 private:
  int64_t classes() const { return static_cast<int64_t>(bottoms.size()); }
  int64_t count() const { return 2 * classes(); }
};
TENON_PLUGIN(DecodeBbox3d);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
