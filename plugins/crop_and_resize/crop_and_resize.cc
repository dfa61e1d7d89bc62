// CropAndResize 1, and CropAndResizeDynamic 1 and 2 (TensorRT): TensorFlow's crop_and_resize.
#include <tenon/kernels/box_crops.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// Corners of the result are corners of the box, which has y1, x1, y2, x2 as parts of the map.
struct TensorFlowCrops {
  int64_t height, width;

  TENON_HD static CropAxis axis(float low, float high, int64_t extent, int64_t bins) {
    const auto last = static_cast<float>(extent - 1);
    if (bins == 1) return {(low + high) / 2 * last, 0, 1, 0};
    return {low * last, (high - low) * last / static_cast<float>(bins - 1), 1, 0};
  }
  template <class E> TENON_HD Crop operator()(const CropMaps<E>& maps, const float* box) const {
    return {0, axis(box[0], box[2], maps.map[0].height, height),
            axis(box[1], box[3], maps.map[0].width, width), false};
  }
};

struct CropAndResize {
  int32_t crop_width = 0, crop_height = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("crop_width", &CropAndResize::crop_width).required(),
                 attribute("crop_height", &CropAndResize::crop_height).required()};
  static constexpr Spec spec{
      .name = "CropAndResizeDynamic",
      .inputs = {{"feature_maps", kT}, {"rois", kT}},
      .outputs = {{"pfmap", kT}},
      .protocol = Protocol::kV2,
      .text =
          "TensorFlow's crop_and_resize: boxes (N, boxes, 4, 1) of y1, x1, y2, x2 as parts of "
          "their feature map (N, C, H, W), whose corners are those of the result (N, boxes, C, "
          "crop_height, crop_width). Samples are bilinear; those outside are 0.",
      .differs = "float16 and bfloat16. A last axis of 1 may be missing."};

  void prepare() const {
    require_at_least("crop_width", crop_width, 1);
    require_at_least("crop_height", crop_height, 1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = crop_extents(in[1], in[0], crop_height, crop_width);
  }
  void check(std::span<const Shape> in) const { require_crops(in[1], in.first(1)); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return crop_workspace(in.first(1));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> map, Tensor<const E> boxes, Tensor<E> y) const {
    crop_all(device, TensorFlowCrops{crop_height, crop_width}, CropMaps<E>(map), boxes, y);
  }
};
TENON_PLUGIN(CropAndResize);
TENON_PLUGIN_AS(CropAndResize, "CropAndResizeDynamic", "2");
TENON_PLUGIN_AS(CropAndResize, "CropAndResize");

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
