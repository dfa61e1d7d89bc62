// DecodeYolo: boxes of a YOLO head, after non-maximum suppression, in pixels of the picture.
#include <tenon/kernels/detections.h>
#include <tenon/kernels/yolo_head.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

enum class HeadFormat { kV8, kV5 };

}  // namespace

struct DecodeYolo {
  HeadFormat format = HeadFormat::kV8;
  float score = 0.25f, overlap = 0.45f;
  int32_t rows = 300;
  bool across_classes = false;

  using T = Types<float, Half>;
  static constexpr auto attributes = std::tuple{
      attribute("format", &DecodeYolo::format, {{"v8", HeadFormat::kV8}, {"v5", HeadFormat::kV5}})
          .says("v8: heads (N, 4 + C, B), as Ultralytics exports v8 and v11; v5: (N, B, 5 + C) "
                "with objectness, as v5 and v7"),
      attribute("score_threshold", &DecodeYolo::score).says("scores are above"),
      attribute("iou_threshold", &DecodeYolo::overlap)
          .says("boxes that overlap a better one by more are dropped"),
      attribute("max_output_boxes", &DecodeYolo::rows).says("rows of the output for each image"),
      attribute("class_agnostic", &DecodeYolo::across_classes)
          .says("1: boxes of one class suppress those of others, too")};
  static constexpr Spec spec{
      .name = "DecodeYolo",
      .inputs = {{"head", kT}, {"to_image", kFloat, kOptional}},
      .outputs = {{"num_detections", kInt32},
                  {"detection_boxes", kFloat},
                  {"detection_scores", kFloat},
                  {"detection_classes", kInt32}},
      .text =
          "A head whose boxes are decoded becomes the number of boxes (N, 1), and of the "
          "max_output_boxes best ones left, top, right and bottom (N, rows, 4), scores and classes "
          "(N, rows). A box has its best class alone. With to_image (N, 8), as PreprocessImages "
          "gives it, boxes are in pixels of the picture and clipped to it. Rows that are left are "
          "0, and their class is -1.",
      .differs = "Coordinates that are not finite are no box."};

  void prepare() const {
    require_limits(rows, overlap);
    if (!(score >= 0 && score <= 1))
      throw std::invalid_argument("score_threshold must be from 0 to 1, found "
                                  + std::to_string(score));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 3)
      throw std::invalid_argument("the head must have 3 dimensions, found "
                                  + std::to_string(in[0].size()));
    const Extent images = in[0][0];
    out[0] = {images, 1};
    out[1] = {images, rows, 4};
    out[2] = out[3] = {images, rows};
  }
  void check(std::span<const Shape> in) const {
    const NmsShape shape = shape_of(in[0]);
    if (shape.classes < 1)
      throw std::invalid_argument(
          std::string("a head is (images, ")
          + (format == HeadFormat::kV8 ? "4 + classes, boxes)" : "boxes, 5 + classes)") + ", found "
          + text_of(in[0]));
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
    Nms<YoloBoxes<float>>(shape, rule(), carver);
    return carver.bytes();
  }

  template <class E>
  void run(const Device& device, Tensor<const E> head, Tensor<const float> to_image,
           Tensor<int32_t> counts, Tensor<float> kept, Tensor<float> kept_scores,
           Tensor<int32_t> kept_classes) const {
    const NmsShape shape = shape_of(head.shape);
    const YoloHead<E> from{head.data, shape.boxes, shape.classes, format == HeadFormat::kV5};
    Carver carver(device.workspace);
    const BestClasses best = BestClasses::carve(carver, shape.images * shape.boxes);
    Nms<YoloBoxes<E>> nms(shape, rule(), carver);
    FindBestClasses<E>{from, score, best}.run(device, shape.images);
    const YoloBoxes<E> boxes{from, to_image ? to_image.data : nullptr};
    const DetectionTensors<float, int32_t> out{counts.data, kept.data, kept_scores.data,
                                               kept_classes.data};
    out.write(device, nms.run_from(device, best, boxes), rows, boxes, {.no_class = -1});
  }

 private:
  NmsShape shape_of(const Shape& head) const {
    const bool is_v8 = format == HeadFormat::kV8;
    return {.images = head[0],
            .boxes = head[is_v8 ? 2 : 1],
            .classes = is_v8 ? head[1] - 4 : head[2] - 5,
            .best_class = true};
  }
  NmsRule rule() const {
    return {
        .overlap = overlap, .score = score, .max_boxes = rows, .across_classes = across_classes};
  }
};
TENON_PLUGIN(DecodeYolo);

}  // namespace tenon::plugins::TENON_TARGET
