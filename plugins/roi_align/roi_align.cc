// Regions of one feature map brought to one size: MMCVRoiAlign (also MMCVRoIAlign),
// MMCVRoIAlignRotated, ROIAlign_TRT.
#include <tenon/kernels/roi_align.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

void check_roi_align(const Shape& x, const Shape& rois, int64_t columns, const RoiAlignRule& rule) {
  if (x.rank() != 4 || rois.rank() != 2 || rois[1] != columns)
    throw std::invalid_argument("expected a feature map (N, C, H, W) and rois (count, "
                                + std::to_string(columns) + ")");
  if (rule.sampling_ratio < 0 || rule.sampling_ratio > 1024)
    throw std::invalid_argument("sampling_ratio must be 0 to 1024, found "
                                + std::to_string(rule.sampling_ratio));
}

Extents result_extents(std::span<const Extents> in, int64_t height, int64_t width) {
  if (in[0].size() != 4 || in[1].size() != 2)
    throw std::invalid_argument("expected a feature map of 4 dimensions and rois of 2, found "
                                + std::to_string(in[0].size()) + " and "
                                + std::to_string(in[1].size()));
  if (height < 1 || width < 1)
    throw std::invalid_argument("output_height and output_width must be at least 1, found "
                                + std::to_string(height) + " and " + std::to_string(width));
  return {in[1][0], in[0][1], height, width};
}

size_t workspace_of(const Shape& x) {
  return roi_align_workspace(x[0] * x[2] * x[3], x[1]);
}

template <class E> FeatureMap<E> map_of(const Tensor<const E>& x) {
  return {x.data, x.shape[0], x.shape[2], x.shape[3]};
}

// Rows of batch element, x1, y1, x2, y2.
template <class E> struct MmcvRegions {
  const E* rois;
  float scale;
  bool aligned;

  TENON_HD Region operator()(int64_t i) const {
    float roi[5];
    for (int k = 0; k < 5; ++k) roi[k] = static_cast<float>(rois[i * 5 + k]);
    return Region::of_corners(0, image_of(roi[0]), roi + 1, scale, aligned);
  }
};

// Rows of batch element, centre x and y, width, height, angle.
template <class E> struct RotatedRegions {
  const E* rois;
  float scale;
  bool aligned, clockwise;

  TENON_HD Region operator()(int64_t i) const {
    float roi[6];
    for (int k = 0; k < 6; ++k) roi[k] = static_cast<float>(rois[i * 6 + k]);
    return Region::of_rotated(0, image_of(roi[0]), roi + 1, scale, aligned, clockwise);
  }
};

}  // namespace

struct MmcvRoiAlign {
  int32_t output_height = 7;
  int32_t output_width = 7;
  float spatial_scale = 1;
  int32_t sampling_ratio = 0;
  RoiPooling mode = RoiPooling::kAverage;
  int32_t aligned = 1;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("output_height", &MmcvRoiAlign::output_height),
      attribute("output_width", &MmcvRoiAlign::output_width),
      attribute("spatial_scale", &MmcvRoiAlign::spatial_scale),
      attribute("sampling_ratio", &MmcvRoiAlign::sampling_ratio),
      attribute("mode", &MmcvRoiAlign::mode,
                {{"max", RoiPooling::kMaximum}, {"avg", RoiPooling::kAverage}}),
      attribute("aligned", &MmcvRoiAlign::aligned),
  };
  static constexpr Spec spec{.name = "MMCVRoiAlign",
                             .inputs = {{"input", kT}, {"rois", kT}},
                             .outputs = {{"output", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "mmcv.ops.RoIAlign. Rows of rois are the number of an image, "
                                 "x1, y1, x2, y2.",
                             .differs = "The maximum of a bin without samples is 0."};

  // As in MMCV, -1 is 0: as many samples as elements.
  RoiAlignRule rule() const {
    return {output_height, output_width, std::max(sampling_ratio, 0), mode};
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = result_extents(in, output_height, output_width);
  }
  void check(std::span<const Shape> in) const { check_roi_align(in[0], in[1], 5, rule()); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return workspace_of(in[0]);
  }

  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> rois, Tensor<E> y) const {
    const FeatureMap<E> map = map_of(x);
    roi_align<E>(device, rule(), {&map, 1}, x.shape[1],
                 MmcvRegions<E>{rois.data, spatial_scale, aligned != 0}, rois.shape[0], y.data);
  }
};
TENON_PLUGIN(MmcvRoiAlign);

// The name as MMCV's documentation spells it.
struct MmcvRoiAlignAsDocumented : MmcvRoiAlign {
  static constexpr Spec spec = renamed(MmcvRoiAlign::spec, "MMCVRoIAlign");
};
TENON_PLUGIN(MmcvRoiAlignAsDocumented);

struct MmcvRoiAlignRotated {
  int32_t output_height = 7;
  int32_t output_width = 7;
  float spatial_scale = 1;
  int32_t sampling_ratio = 0;
  bool aligned = true;
  bool clockwise = false;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("output_height", &MmcvRoiAlignRotated::output_height),
      attribute("output_width", &MmcvRoiAlignRotated::output_width),
      attribute("spatial_scale", &MmcvRoiAlignRotated::spatial_scale),
      attribute("sampling_ratio", &MmcvRoiAlignRotated::sampling_ratio)
          .says("samples per bin and axis; 0: as many as elements it covers"),
      attribute("aligned", &MmcvRoiAlignRotated::aligned),
      attribute("clockwise", &MmcvRoiAlignRotated::clockwise),
  };
  static constexpr Spec spec{.name = "MMCVRoIAlignRotated",
                             .inputs = {{"input", kT}, {"rois", kT}},
                             .outputs = {{"output", kT}},
                             .protocol = Protocol::kV2,
                             .text =
                                 "mmcv.ops.RoIAlignRotated. Rows of rois are the number of an "
                                 "image, centre x, centre y, width, height, angle in radians."};

  RoiAlignRule rule() const { return {output_height, output_width, std::max(sampling_ratio, 0)}; }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = result_extents(in, output_height, output_width);
  }
  void check(std::span<const Shape> in) const { check_roi_align(in[0], in[1], 6, rule()); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return workspace_of(in[0]);
  }

  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> rois, Tensor<E> y) const {
    const FeatureMap<E> map = map_of(x);
    roi_align<E>(device, rule(), {&map, 1}, x.shape[1],
                 RotatedRegions<E>{rois.data, spatial_scale, aligned, clockwise}, rois.shape[0],
                 y.data);
  }
};
TENON_PLUGIN(MmcvRoiAlignRotated);

struct RoiAlignTrt {
  int32_t coordinate_transformation_mode = 1;
  int32_t mode = 1;
  int32_t output_height = 1;
  int32_t output_width = 1;
  int32_t sampling_ratio = 0;
  float spatial_scale = 1;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("coordinate_transformation_mode", &RoiAlignTrt::coordinate_transformation_mode),
      attribute("mode", &RoiAlignTrt::mode),
      attribute("output_height", &RoiAlignTrt::output_height),
      attribute("output_width", &RoiAlignTrt::output_width),
      attribute("sampling_ratio", &RoiAlignTrt::sampling_ratio),
      attribute("spatial_scale", &RoiAlignTrt::spatial_scale),
  };
  static constexpr Spec spec{.name = "ROIAlign_TRT",
                             .version = "2",
                             .inputs = {{"X", kT}, {"rois", kT}, {"batch_indices", kInt32}},
                             .outputs = {{"Y", kT}},
                             .text =
                                 "ONNX RoiAlign-16. Rows of rois are x1, y1, x2, y2. The "
                                 "maximum is of the weighted neighbours of samples, as ONNX "
                                 "Runtime has it."};

  RoiAlignRule rule() const {
    return {output_height, output_width, sampling_ratio,
            mode != 0 ? RoiPooling::kAverage : RoiPooling::kMaximumOfTaps};
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = result_extents(in, output_height, output_width);
  }
  void check(std::span<const Shape> in) const {
    check_roi_align(in[0], in[1], 4, rule());
    if (in[2].rank() != 1 || in[2][0] != in[1][0])
      throw std::invalid_argument("expected one batch index for each of " + std::to_string(in[1][0])
                                  + " rois");
    for (const int32_t flag : {mode, coordinate_transformation_mode})
      if (flag != 0 && flag != 1)
        throw std::invalid_argument("mode and coordinate_transformation_mode must be 0 or 1");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return workspace_of(in[0]);
  }

  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> rois,
           Tensor<const int32_t> images, Tensor<E> y) const {
    const FeatureMap<E> map = map_of(x);
    const RoisOfImages<E, int32_t> regions{rois.data, images.data, spatial_scale,
                                           coordinate_transformation_mode != 0};
    roi_align<E>(device, rule(), {&map, 1}, x.shape[1], regions, rois.shape[0], y.data);
  }
};
TENON_PLUGIN(RoiAlignTrt);

struct RoiAlignTrtV1 : RoiAlignTrt {
  static constexpr Spec spec{.name = "ROIAlign_TRT",
                             .version = "1",
                             .inputs = RoiAlignTrt::spec.inputs,
                             .outputs = RoiAlignTrt::spec.outputs,
                             .protocol = Protocol::kV2,
                             .text = RoiAlignTrt::spec.text};
};
TENON_PLUGIN(RoiAlignTrtV1);

}  // namespace tenon::plugins::TENON_TARGET
