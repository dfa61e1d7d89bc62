// Points of clouds within boxes, as mmcv.ops has them: MMCVPointsInBoxesPart and
// MMCVPointsInBoxesAll 1.
#include <tenon/kernels/point_cloud.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

constexpr int64_t kBoxNumbers = 7;

// A box stands on the middle of its lower side x, y, z; then come its extents along x, y and z, and
// the angle around z that it is rotated by.
template <class E> TENON_HD bool is_inside(const E* point, const E* box) {
  const auto number = [&](int64_t k) { return static_cast<float>(box[k]); };
  const auto from_box = [&](int64_t k) { return static_cast<float>(point[k]) - number(k); };
  if (!(fabsf(from_box(2) - number(5) / 2) <= number(5) / 2)) return false;
  const float cosine = cosf(number(6)), sine = sinf(number(6));
  const float along = from_box(0) * cosine + from_box(1) * sine;
  const float across = from_box(1) * cosine - from_box(0) * sine;
  return fabsf(along) < number(3) / 2 && fabsf(across) < number(4) / 2;
}

// The first box that a point is in, or -1.
template <class E> struct FirstBox {
  const E *points, *boxes;
  int32_t* y;
  int64_t count, box_count;

  TENON_HD void operator()(int64_t i) const {
    const E* const of_cloud = boxes + i / count * box_count * kBoxNumbers;
    int64_t box = 0;
    while (box < box_count && !is_inside(points + i * 3, of_cloud + box * kBoxNumbers)) ++box;
    y[i] = static_cast<int32_t>(box < box_count ? box : -1);
  }
};

// 1 where the point of a row is in the box of a column.
template <class E> struct InBox {
  const E *points, *boxes;
  int32_t* y;
  int64_t count, box_count;

  TENON_HD void operator()(int64_t i) const {
    const int64_t point = i / box_count, cloud = point / count, box = i % box_count;
    y[i] = is_inside(points + point * 3, boxes + (cloud * box_count + box) * kBoxNumbers);
  }
};

struct PointsInBoxes {
  using T = Types<float, Half, BFloat16>;

  void check(std::span<const Shape> in) const {
    kernels::require_cloud("points", in[0]);
    require_shape("boxes", in[1], {in[0][0], in[1][1], kBoxNumbers});
  }
};

constexpr Spec points_in_boxes_spec(const char* name, const char* text) {
  return {.name = name,
          .inputs = {{"points", kT}, {"boxes", kT}},
          .outputs = {{"box_idxs_of_pts", kInt32}},
          .protocol = Protocol::kV2,
          .text = text,
          .differs = "There is none for TensorRT elsewhere. float16 and bfloat16."};
}

struct PointsInBoxesPart : PointsInBoxes {
  static constexpr Spec spec = points_in_boxes_spec(
      "MMCVPointsInBoxesPart",
      "mmcv.ops.points_in_boxes_part: for each of points (B, M, 3) the number (B, M) of the first "
      "of boxes (B, T, 7) that it is in, or -1. A box has x, y, z of the middle of its lower side, "
      "its extents along them, and an angle around z.");

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    kernels::require_cloud("points", in[0]);
    require_axes("boxes", in[1], "B, boxes, 7");
    out[0] = {in[0][0], in[0][1]};
  }
  template <class E>
  void run(const Device& device, Tensor<const E> points, Tensor<const E> boxes,
           Tensor<int32_t> y) const {
    device.parallel_for(y.shape.volume(), FirstBox<E>{points.data, boxes.data, y.data,
                                                      points.shape[1], boxes.shape[1]});
  }
};
TENON_PLUGIN(PointsInBoxesPart);

struct PointsInBoxesAll : PointsInBoxes {
  static constexpr Spec spec = points_in_boxes_spec(
      "MMCVPointsInBoxesAll",
      "mmcv.ops.points_in_boxes_all: for each of points (B, M, 3) and each of boxes (B, T, 7) 1 "
      "where the point is in the box, and 0 elsewhere (B, M, T). A box has x, y, z of the middle "
      "of its lower side, its extents along them, and an angle around z.");

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    kernels::require_cloud("points", in[0]);
    require_axes("boxes", in[1], "B, boxes, 7");
    out[0] = {in[0][0], in[0][1], in[1][1]};
  }
  template <class E>
  void run(const Device& device, Tensor<const E> points, Tensor<const E> boxes,
           Tensor<int32_t> y) const {
    device.parallel_for(y.shape.volume(),
                        InBox<E>{points.data, boxes.data, y.data, points.shape[1], boxes.shape[1]});
  }
};
TENON_PLUGIN(PointsInBoxesAll);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
