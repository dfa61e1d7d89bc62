// DecodeYolo: boxes of a YOLO head, after non-maximum suppression, in pixels of the picture.
#include <tenon/kernels/detections.h>
#include <tenon/kernels/yolo_head.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

struct DecodeYolo {
  YoloFormat format = YoloFormat::kV8;
  float score = 0.25f, overlap = 0.45f;
  int32_t rows = 300, keypoints = 0, point_numbers = 3, coefficients = 0;
  bool across_classes = false, is_oriented = false;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("format", &DecodeYolo::format,
                {{"v8", YoloFormat::kV8}, {"v5", YoloFormat::kV5}, {"v10", YoloFormat::kV10}})
          .says("v8: heads (N, 4 + C + E, B), as Ultralytics exports v8 and v11; v5: (N, B, 5 + C "
                "+ E) with objectness, as v5 and v7; v10: (N, B, 6 + E) of corners, score and "
                "class, which no box suppresses"),
      attribute("score_threshold", &DecodeYolo::score).says("scores are above"),
      attribute("iou_threshold", &DecodeYolo::overlap)
          .says("boxes that overlap a better one by more are dropped"),
      attribute("max_output_boxes", &DecodeYolo::rows).says("rows of the output for each image"),
      attribute("class_agnostic", &DecodeYolo::across_classes)
          .says("1: boxes of one class suppress those of others, too"),
      attribute("keypoints", &DecodeYolo::keypoints)
          .says("of each box, as pose heads have them: E is keypoints * keypoint_numbers"),
      attribute("keypoint_numbers", &DecodeYolo::point_numbers)
          .says("2: x and y; 3: and a score, which stays as it is"),
      attribute("coefficients", &DecodeYolo::coefficients)
          .says("of masks, as segmentation heads have them: E"),
      attribute("oriented", &DecodeYolo::is_oriented)
          .says("1: E is an angle in radians, and boxes overlap by probabilistic IoU")};
  static constexpr Spec spec{
      .name = "DecodeYolo",
      .inputs = {{"head", kT}, {"to_image", kFloat, kOptional}},
      .outputs = {{"num_detections", kInt32},
                  {"detection_boxes", kFloat},
                  {"detection_scores", kFloat},
                  {"detection_classes", kInt32},
                  {"detection_others", kFloat, kOptional}},
      .text =
          "A head whose boxes are decoded becomes the number of boxes (N, 1), and of the "
          "max_output_boxes best ones left, top, right and bottom (N, rows, 4), scores and classes "
          "(N, rows). A box has its best class alone. With to_image (N, 8), as PreprocessImages "
          "gives it, boxes are in pixels of the picture and clipped to it. Oriented boxes are "
          "centre, width, height and angle (N, rows, 5), the angle below a quarter turn, and not "
          "clipped. With keypoints there is a fifth output (N, rows, keypoints, numbers), in the "
          "same pixels; with coefficients it is (N, rows, coefficients). Rows that are left are 0, "
          "and their class is -1.",
      .differs =
          "Coordinates that are not finite are no box, and no more is a row of v10 whose "
          "class is no whole number from 0 on."};

  void prepare() const {
    require_limits(rows, overlap);
    if (!(score >= 0 && score <= 1))
      throw std::invalid_argument("score_threshold must be from 0 to 1, found "
                                  + std::to_string(score));
    constexpr int32_t kMaxOthers = 1 << 20;
    if (keypoints < 0 || keypoints > kMaxOthers || coefficients < 0 || coefficients > kMaxOthers)
      throw std::invalid_argument("keypoints and coefficients must be from 0 to 2^20, found "
                                  + std::to_string(keypoints) + " and "
                                  + std::to_string(coefficients));
    if (point_numbers != 2 && point_numbers != 3)
      throw std::invalid_argument("keypoint_numbers must be 2 or 3, found "
                                  + std::to_string(point_numbers));
    if (is_oriented && format != YoloFormat::kV8)
      throw std::invalid_argument("oriented boxes are of the format v8");
    if ((keypoints > 0) + (coefficients > 0) + (is_oriented ? 1 : 0) > 1)
      throw std::invalid_argument(
          "a head has keypoints, coefficients or oriented boxes, and only one of these");
  }
  int output_count() const { return keypoints > 0 || coefficients > 0 ? 5 : 4; }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 3)
      throw std::invalid_argument("the head must have 3 dimensions, found "
                                  + std::to_string(in[0].size()));
    const Extent images = in[0][0];
    out[0] = {images, 1};
    out[1] = {images, rows, is_oriented ? 5 : 4};
    out[2] = out[3] = {images, rows};
    if (keypoints > 0)
      out[4] = {images, rows, keypoints, point_numbers};
    else if (coefficients > 0)
      out[4] = {images, rows, coefficients};
  }
  void check(std::span<const Shape> in) const {
    const NmsShape shape = shape_of(in[0]);
    if (shape.classes < 1 || (format == YoloFormat::kV10 && in[0][2] != 6 + others()))
      throw std::invalid_argument("a head is " + expected_head() + ", found " + text_of(in[0]));
    if (shape.boxes * shape.classes > UINT32_MAX)
      throw std::invalid_argument("expected fewer than 2^32 scores in an image, found "
                                  + text_of(in[0]));
    if (in.size() > 1 && (in[1].rank() != 2 || in[1][0] != shape.images || in[1][1] != 8))
      throw std::invalid_argument("to_image must be (" + std::to_string(shape.images)
                                  + ", 8), found " + text_of(in[1]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    const NmsShape shape = shape_of(in[0]);
    Carver carver;
    BestClasses::carve(carver, shape.images * shape.boxes);
    if (is_oriented)
      Nms<OrientedYoloBoxes<float>>(shape, rule(), carver);
    else
      Nms<YoloBoxes<float>>(shape, rule(), carver);
    return carver.bytes();
  }

  template <class E>
  void run(const Device& device, Tensor<const E> head, Tensor<const float> to_image,
           Tensor<int32_t> counts, Tensor<float> boxes, Tensor<float> scores,
           Tensor<int32_t> classes, Tensor<float> others) const {
    const YoloTensors to{counts.data,  boxes.data,  scores.data,
                         classes.data, others.data, keypoints > 0 ? point_numbers : 0};
    if (is_oriented)
      decode<E, OrientedYoloBoxes<E>>(device, head, to_image.data, to);
    else
      decode<E, YoloBoxes<E>>(device, head, to_image.data, to);
  }

 private:
  template <class E, class Boxes>
  void decode(const Device& device, Tensor<const E> head, const float* to_image,
              const YoloTensors& to) const {
    const NmsShape shape = shape_of(head.shape);
    const Boxes boxes{{head.data, shape.boxes, shape.classes, others(), format}};
    Carver carver(device.workspace);
    const BestClasses best = BestClasses::carve(carver, shape.images * shape.boxes);
    Nms<Boxes> nms(shape, rule(), carver);
    FindBestClasses<E>{boxes.head, score, is_oriented, best}.run(device, shape.images);
    const KeptLists& lists = nms.run_from(device, best, boxes);
    device.parallel_rows(shape.images, WriteBest<YoloRows<E, Boxes>>{
                                           lists, rows, {to, lists, rows, boxes, to_image}});
  }

  int64_t others() const {
    return int64_t{keypoints} * point_numbers + coefficients + (is_oriented ? 1 : 0);
  }
  std::string expected_head() const {
    const std::string more = others() == 0 ? "" : " + " + std::to_string(others());
    if (format == YoloFormat::kV10) return "(images, boxes, 6" + more + ")";
    return format == YoloFormat::kV8 ? "(images, 4 + classes" + more + ", boxes)"
                                     : "(images, boxes, 5 + classes" + more + ")";
  }
  NmsShape shape_of(const Shape& head) const {
    const bool is_v8 = format == YoloFormat::kV8, has_class = format == YoloFormat::kV10;
    return {.images = head[0],
            .boxes = head[is_v8 ? 2 : 1],
            .classes = has_class ? 1 : head[is_v8 ? 1 : 2] - (is_v8 ? 4 : 5) - others(),
            .best_class = true};
  }
  // Boxes of v10 do not suppress each other.
  NmsRule rule() const {
    const bool keeps_all = format == YoloFormat::kV10;
    return {.overlap = keeps_all ? INFINITY : overlap,
            .score = score,
            .max_boxes = rows,
            .across_classes = across_classes};
  }
};
TENON_PLUGIN(DecodeYolo);

}  // namespace tenon::plugins::TENON_TARGET
