// PyramidROIAlign_TRT and MultilevelCropAndResize_TRT 1 (TensorRT): crops of the level of a pyramid
// that suits a box, as Mask R-CNN takes them.
#include <tenon/kernels/box_crops.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// What crops of `kLevels` feature maps share. The last two of image_size are height and width.
template <int kLevels> struct LevelCrops {
  int32_t pooled_size = 7;
  std::vector<int32_t> image_size;

  using T = Types<float, Half, BFloat16>;

  void require_sizes(size_t image_axes) const {
    require_at_least("pooled_size", pooled_size, 1);
    require_elements("image_size", image_size.size(), image_axes);
    for (const int32_t extent : image_size) require_at_least("image_size", extent, 1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in.size() != 1 + kLevels)
      throw std::invalid_argument("expected rois and " + std::to_string(kLevels)
                                  + " feature maps, found " + std::to_string(in.size())
                                  + " inputs");
    out[0] = crop_extents(in[0], in[1], pooled_size, pooled_size);
  }
  void check(std::span<const Shape> in) const { require_crops(in[0], in.subspan(1)); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return crop_workspace(in.subspan(1));
  }
};

enum class PyramidCoordinates { kCorners = -1, kNone = 0, kOutput = 1, kBoth = 2 };

struct PyramidCrops {
  int64_t size;
  PyramidCoordinates coordinates;
  bool is_absolute, rows_first, counts_pixels;
  int64_t sampling_ratio;
  float threshold, image_height, image_width;

  TENON_HD CropAxis axis(float low, float high, int64_t extent) const {
    const bool corners = coordinates == PyramidCoordinates::kCorners;
    const auto elements = static_cast<float>(corners ? extent - 1 : extent);
    const float shift = coordinates == PyramidCoordinates::kBoth ? 0.5f : 0.f;
    const auto bins = static_cast<float>(corners ? (size > 1 ? size - 1 : 1) : size);
    CropAxis axis{low * elements - shift, (high - low) * elements / bins, sampling_ratio};
    const bool half =
        coordinates == PyramidCoordinates::kOutput || coordinates == PyramidCoordinates::kBoth;
    axis.offset = half ? 0.5f : 0.f;
    if (axis.samples == 0)
      axis.samples = static_cast<int64_t>(
          fmaxf(1.f, ceilf((high - low) * elements / static_cast<float>(size))));
    return axis;
  }
  template <class E> TENON_HD Crop operator()(const CropMaps<E>& maps, const float* box) const {
    float y1 = rows_first ? box[0] : box[1], x1 = rows_first ? box[1] : box[0];
    float y2 = rows_first ? box[2] : box[3], x2 = rows_first ? box[3] : box[2];
    const auto part = [&](float at, float image) {
      return is_absolute ? fminf(fmaxf(at, 0.f), image) / image : fminf(fmaxf(at, 0.f), 1.f);
    };
    const float top = part(fminf(y1, y2), image_height), left = part(fminf(x1, x2), image_width);
    const float bottom = part(fmaxf(y1, y2), image_height),
                right = part(fmaxf(x1, x2), image_width);
    const float more_y = counts_pixels ? 1 / image_height : 0.f;
    const float more_x = counts_pixels ? 1 / image_width : 0.f;
    const int64_t level =
        pyramid_level(maps, (bottom - top + more_y) * (right - left + more_x), threshold);
    const FeatureMap<E>& map = maps.map[level];
    return {level, axis(top, bottom, map.height), axis(left, right, map.width), true};
  }
};

struct PyramidRoiAlign : LevelCrops<4> {
  int32_t fpn_scale = 224;
  bool is_absolute = true, rows_first = false, counts_pixels = false, is_legacy = false;
  PyramidCoordinates coordinates = PyramidCoordinates::kBoth;
  int32_t sampling_ratio = 0;

  PyramidRoiAlign() : LevelCrops{.image_size = {1024, 1024}} {}

  static constexpr auto attributes = std::tuple{
      attribute("fpn_scale", &PyramidRoiAlign::fpn_scale)
          .says("pixels of a side from which on a box is of the third map"),
      attribute("pooled_size", &PyramidRoiAlign::pooled_size)
          .says("height and width of the result"),
      attribute("image_size", &PyramidRoiAlign::image_size).says("height and width, in pixels"),
      attribute("roi_coords_absolute", &PyramidRoiAlign::is_absolute)
          .says("1: rois are in pixels; 0: parts of the image"),
      attribute("roi_coords_swap", &PyramidRoiAlign::rows_first)
          .says("1: rois are y1, x1, y2, x2; 0: x1, y1, x2, y2"),
      attribute("roi_coords_plusone", &PyramidRoiAlign::counts_pixels)
          .says("1: a roi is larger by a pixel where its level is chosen"),
      attribute("roi_coords_transform", &PyramidRoiAlign::coordinates,
                {{"corners", PyramidCoordinates::kCorners},
                 {"none", PyramidCoordinates::kNone},
                 {"output_half_pixel", PyramidCoordinates::kOutput},
                 {"half_pixel", PyramidCoordinates::kBoth}})
          .says("where samples lie: half_pixel as ONNX RoiAlign-16"),
      attribute("sampling_ratio", &PyramidRoiAlign::sampling_ratio)
          .says("samples per bin and axis; 0: as many as elements it covers"),
      attribute("legacy", &PyramidRoiAlign::is_legacy)
          .says("1: as Keras' Mask R-CNN: parts of the image, rows first, corners, one sample")};
  static constexpr Spec spec{
      .name = "PyramidROIAlign_TRT",
      .inputs = {{"rois", kT}, {"feature_maps", kT, kRepeated}},
      .outputs = {{"pooled", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Mask R-CNN's RoIAlign: each of rois (N, boxes, 4) is read from that of 4 feature maps "
          "(N, C, H, W), the largest first, that suits its area. Averages of bilinear samples, (N, "
          "boxes, C, pooled_size, pooled_size).",
      .differs =
          "Shapes are dynamic. A pooled_size of 1 works with corners. float16 and bfloat16."};

  void prepare() const {
    require_at_least("fpn_scale", fpn_scale, 1);
    require_sizes(2);
    if (sampling_ratio < 0 || sampling_ratio > 1024)
      throw std::invalid_argument("sampling_ratio must be 0 to 1024, found "
                                  + std::to_string(sampling_ratio));
    const auto number = static_cast<int>(coordinates);
    if (number < -1 || number > 2)
      throw std::invalid_argument("roi_coords_transform must be -1 to 2, found "
                                  + std::to_string(number));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> rois, Tensors<const E> maps, Tensor<E> y) const {
    const auto height = static_cast<float>(image_size[0]),
               width = static_cast<float>(image_size[1]);
    const auto scale = static_cast<float>(fpn_scale);
    PyramidCrops crops{pooled_size,
                       coordinates,
                       is_absolute,
                       rows_first,
                       counts_pixels,
                       sampling_ratio,
                       scale * scale / (height * width) / 4,
                       height,
                       width};
    if (is_legacy)
      crops = {pooled_size,
               PyramidCoordinates::kCorners,
               false,
               true,
               false,
               1,
               224.f * 224 * 2 / (height * width) / 16,
               height,
               width};
    crop_all(device, crops, CropMaps<E>(maps), rois, y);
  }
};
TENON_PLUGIN(PyramidRoiAlign);

// Pixels y1, x1, y2, x2; the maps have a quarter of the image's sides, an eighth, and so on.
struct MultilevelCrops {
  int64_t size;
  float image_height, image_width;

  TENON_HD CropAxis axis(float low, float high, float scale) const {
    return {low * scale, (high - low) * scale / static_cast<float>(size)};
  }
  template <class E> TENON_HD Crop operator()(const CropMaps<E>& maps, const float* box) const {
    const bool is_inside = box[0] >= 0 && box[2] <= image_height && box[1] >= 0
                           && box[3] <= image_width && box[0] < box[2] && box[1] < box[3];
    if (!is_inside) return {-1, {}, {}, true};
    const float area = (box[2] - box[0]) * (box[3] - box[1]);
    const int64_t level = pyramid_level(maps, area, 224.f * 224 / 4);
    const float scale = 0.25f / static_cast<float>(1 << level);
    return {level, axis(box[0], box[2], scale), axis(box[1], box[3], scale), true};
  }
};

struct MultilevelCropAndResize : LevelCrops<5> {
  MultilevelCropAndResize() : LevelCrops{.image_size = {3, 832, 1344}} {}

  static constexpr auto attributes =
      std::tuple{attribute("pooled_size", &MultilevelCropAndResize::pooled_size)
                     .required()
                     .says("height and width of the result"),
                 attribute("image_size", &MultilevelCropAndResize::image_size)
                     .says("channels, height and width, in pixels")};
  static constexpr Spec spec{
      .name = "MultilevelCropAndResize_TRT",
      .inputs = {{"rois", kT}, {"feature_maps", kT, kRepeated}},
      .outputs = {{"pooled", kT}},
      .protocol = Protocol::kV2,
      .text =
          "TAO's Mask R-CNN: each of rois (N, boxes, 4) of y1, x1, y2, x2 in pixels is read from "
          "that of 5 feature maps (N, C, H, W) of strides 4, 8, 16, 32 and 64 that suits its area, "
          "a bilinear sample in the middle of each bin. Boxes that are not within the image are 0.",
      .differs = "Boxes that are not within the image are written. Shapes are dynamic. bfloat16."};

  void prepare() const { require_sizes(3); }
  template <class E>
  void run(const Device& device, Tensor<const E> rois, Tensors<const E> maps, Tensor<E> y) const {
    crop_all(device,
             MultilevelCrops{pooled_size, static_cast<float>(image_size[1]),
                             static_cast<float>(image_size[2])},
             CropMaps<E>(maps), rois, y);
  }
};
TENON_PLUGIN(MultilevelCropAndResize);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
