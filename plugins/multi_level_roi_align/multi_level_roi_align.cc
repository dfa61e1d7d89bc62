// Regions that are each read from the feature map that suits their size: MMCVMultiLevelRoiAlign,
// amirstan's RoiExtractorPluginDynamic and, with rotated regions, MMCVMultiLevelRotatedRoiAlign.
#include <tenon/kernels/roi_align.h>
#include <tenon/kernels/roi_levels.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

// Rows of image, x1, y1, x2, y2.
template <class E> struct UprightRegions {
  const E* rois;
  RoiLevels levels;

  TENON_HD Region operator()(int64_t i) const {
    float roi[5];
    for (int k = 0; k < 5; ++k) roi[k] = static_cast<float>(rois[i * 5 + k]);
    float corners[4] = {roi[1], roi[2], roi[3], roi[4]};
    const float width = roi[3] - roi[1], height = roi[4] - roi[2];
    if (levels.factor > 0) {
      const float x = (roi[1] + roi[3]) / 2, y = (roi[2] + roi[4]) / 2;
      const float right = levels.grown(width) / 2, down = levels.grown(height) / 2;
      corners[0] = x - right;
      corners[1] = y - down;
      corners[2] = x + right;
      corners[3] = y + down;
    }
    const int64_t level = levels.of(width, height);
    return Region::of_corners(level, image_of(roi[0]), corners, 1 / levels.stride[level],
                              levels.aligned);
  }
};

// Rows of image, centre x and y, width, height, angle in radians.
template <class E> struct RotatedRegions {
  const E* rois;
  RoiLevels levels;
  bool clockwise;

  TENON_HD Region operator()(int64_t i) const {
    float roi[6];
    for (int k = 0; k < 6; ++k) roi[k] = static_cast<float>(rois[i * 6 + k]);
    const int64_t level = levels.of(roi[3], roi[4]);
    for (int k = 3; k < 5; ++k) roi[k] = levels.grown(roi[k]);
    return Region::of_rotated(level, image_of(roi[0]), roi + 1, 1 / levels.stride[level],
                              levels.aligned, clockwise);
  }
};

// What both share; `row` is the length of a row of rois.
template <int row> struct MultiLevel {
  int32_t output_height = 7;
  int32_t output_width = 7;
  int32_t sampling_ratio = 2;
  std::vector<float> featmap_strides;
  float roi_scale_factor = -1;
  int32_t finest_scale = 56;
  bool aligned = false;

  using T = Types<float, Half, BFloat16>;

  void require_maps(size_t roi_axes, size_t maps) const {
    if (roi_axes != 2 || maps != featmap_strides.size() || maps > kMaxMaps)
      throw std::invalid_argument(
          "expected rois of 2 dimensions and a feature map for each of at most "
          + std::to_string(kMaxMaps) + " featmap_strides, found " + std::to_string(roi_axes)
          + " dimensions, " + std::to_string(maps) + " maps and "
          + std::to_string(featmap_strides.size()) + " strides");
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_maps(in[0].size(), in.size() - 1);
    for (size_t i = 1; i < in.size(); ++i)
      if (in[i].size() != 4)
        throw std::invalid_argument("feature map " + std::to_string(i - 1)
                                    + " must have 4 dimensions (N, C, H, W), found "
                                    + std::to_string(in[i].size()));
    if (output_height < 1 || output_width < 1)
      throw std::invalid_argument("output_height and output_width must be at least 1, found "
                                  + std::to_string(output_height) + " and "
                                  + std::to_string(output_width));
    out[0] = {in[0][0], in[1][1], output_height, output_width};
  }
  void check(std::span<const Shape> in) const {
    require_maps(static_cast<size_t>(in[0].rank()), in.size() - 1);
    if (in[0][1] != row)
      throw std::invalid_argument("rois must have " + std::to_string(row) + " columns, found "
                                  + std::to_string(in[0][1]));
    for (size_t i = 2; i < in.size(); ++i)
      if (in[i][1] != in[1][1])
        throw std::invalid_argument("feature map " + std::to_string(i - 1) + " has "
                                    + std::to_string(in[i][1]) + " channels, the first one "
                                    + std::to_string(in[1][1]));
    for (const float stride : featmap_strides)
      if (!(stride > 0))
        throw std::invalid_argument("featmap_strides must be positive, found "
                                    + std::to_string(stride));
    if (finest_scale < 1 || sampling_ratio > 1024)
      throw std::invalid_argument(
          "expected a finest_scale of at least 1 and a sampling_ratio of at most 1024, found "
          + std::to_string(finest_scale) + " and " + std::to_string(sampling_ratio));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    size_t bytes = 0;
    for (const Shape& map : in.subspan(1))
      bytes += roi_align_workspace(map[0] * map[2] * map[3], map[1]);
    return bytes;
  }

 protected:
  RoiLevels levels() const {
    RoiLevels all;
    for (const float stride : featmap_strides) all.stride[all.count++] = stride;
    all.finest = static_cast<float>(finest_scale);
    all.factor = roi_scale_factor;
    all.aligned = aligned;
    return all;
  }
  template <class E, class Regions>
  void pool(const Device& device, const Regions& regions, RoiPooling pooling,
            const Tensors<const E>& maps, const Tensor<E>& y) const {
    FeatureMap<E> map[kMaxMaps];
    for (int i = 0; i < maps.count; ++i) {
      const Shape& s = maps[i].shape;
      map[i] = {maps[i].data, s[0], s[2], s[3]};
    }
    roi_align<E>(device, {output_height, output_width, sampling_ratio, pooling},
                 {map, static_cast<size_t>(maps.count)}, y.shape[1], regions, y.shape[0], y.data);
  }
};

}  // namespace

struct MultiLevelRoiAlign : MultiLevel<5> {
  RoiPooling pool_mode = RoiPooling::kMaximum;

  static constexpr auto attributes = std::tuple{
      attribute("output_height", &MultiLevelRoiAlign::output_height),
      attribute("output_width", &MultiLevelRoiAlign::output_width),
      attribute("pool_mode", &MultiLevelRoiAlign::pool_mode,
                {{"max", RoiPooling::kMaximum}, {"avg", RoiPooling::kAverage}}),
      attribute("sampling_ratio", &MultiLevelRoiAlign::sampling_ratio),
      attribute("featmap_strides", &MultiLevelRoiAlign::featmap_strides).required(),
      attribute("roi_scale_factor", &MultiLevelRoiAlign::roi_scale_factor),
      attribute("finest_scale", &MultiLevelRoiAlign::finest_scale),
      attribute("aligned", &MultiLevelRoiAlign::aligned),
  };
  static constexpr Spec spec{
      .name = "MMCVMultiLevelRoiAlign",
      .inputs = {{"rois", kT}, {"feats", kT, kRepeated}},
      .outputs = {{"roi_feats", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmdet's SingleRoIExtractor with RoIAlign: each row of rois (image, x1, y1, x2, y2) is "
          "read from the level that suits its size.",
      .differs =
          "roi_scale_factor scales widths and heights as mmdet does, without the pixel that "
          "older versions add."};

  template <class E>
  void run(const Device& device, Tensor<const E> rois, Tensors<const E> maps, Tensor<E> y) const {
    pool<E>(device, UprightRegions<E>{rois.data, levels()}, pool_mode, maps, y);
  }
};
TENON_PLUGIN(MultiLevelRoiAlign);

struct RoiExtractor : MultiLevel<5> {
  int32_t out_size = 7;

  static constexpr auto attributes = std::tuple{
      attribute("out_size", &RoiExtractor::out_size).says("height and width of the result"),
      attribute("sample_num", &RoiExtractor::sampling_ratio)
          .says("samples per bin and axis; 0: as many as elements it covers"),
      attribute("featmap_strides", &RoiExtractor::featmap_strides).required(),
      attribute("roi_scale_factor", &RoiExtractor::roi_scale_factor),
      attribute("finest_scale", &RoiExtractor::finest_scale),
      attribute("aligned", &RoiExtractor::aligned),
  };
  static constexpr Spec spec{.name = "RoiExtractorPluginDynamic",
                             .inputs = MultiLevelRoiAlign::spec.inputs,
                             .outputs = MultiLevelRoiAlign::spec.outputs,
                             .protocol = Protocol::kV2,
                             .text = MultiLevelRoiAlign::spec.text,
                             .differs =
                                 "Sizes of regions are as mmdet has them, without the pixel that "
                                 "older versions add. float16."};

  void prepare() { output_height = output_width = out_size; }
  template <class E>
  void run(const Device& device, Tensor<const E> rois, Tensors<const E> maps, Tensor<E> y) const {
    pool<E>(device, UprightRegions<E>{rois.data, levels()}, RoiPooling::kAverage, maps, y);
  }
};
TENON_PLUGIN(RoiExtractor);

struct MultiLevelRotatedRoiAlign : MultiLevel<6> {
  bool clockwise = false;

  static constexpr auto attributes = std::tuple{
      attribute("output_height", &MultiLevelRotatedRoiAlign::output_height),
      attribute("output_width", &MultiLevelRotatedRoiAlign::output_width),
      attribute("clockwise", &MultiLevelRotatedRoiAlign::clockwise),
      attribute("sampling_ratio", &MultiLevelRotatedRoiAlign::sampling_ratio),
      attribute("featmap_strides", &MultiLevelRotatedRoiAlign::featmap_strides).required(),
      attribute("roi_scale_factor", &MultiLevelRotatedRoiAlign::roi_scale_factor),
      attribute("finest_scale", &MultiLevelRotatedRoiAlign::finest_scale),
      attribute("aligned", &MultiLevelRotatedRoiAlign::aligned),
  };
  static constexpr Spec spec{
      .name = "MMCVMultiLevelRotatedRoiAlign",
      .inputs = {{"rois", kT}, {"feats", kT, kRepeated}},
      .outputs = {{"roi_feats", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmrotate's RotatedSingleRoIExtractor with RoIAlignRotated; rows of rois are image, "
          "centre x, centre y, width, height, angle in radians."};

  template <class E>
  void run(const Device& device, Tensor<const E> rois, Tensors<const E> maps, Tensor<E> y) const {
    pool<E>(device, RotatedRegions<E>{rois.data, levels(), clockwise}, RoiPooling::kAverage, maps,
            y);
  }
};
TENON_PLUGIN(MultiLevelRotatedRoiAlign);

}  // namespace tenon::plugins::TENON_TARGET
