// Boxes of images brought to one size, several boxes for each image: CropAndResize 1,
// CropAndResizeDynamic 1 and 2 (TensorFlow's crop_and_resize), PyramidROIAlign_TRT and
// MultilevelCropAndResize_TRT 1 (Mask R-CNN), all of TensorRT. The result is (N, boxes, C, height,
// width).
#include <tenon/kernels/pixels.h>
#include <tenon/kernels/roi_region.h>
#include <tenon/kernels/workspace.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::FeatureMap;
using kernels::Tap;

namespace {

// Where the samples of a box lie along one axis of its map.
struct CropAxis {
  float start, bin;     // elements
  int64_t samples = 1;  // of a bin
  float offset = 0.5f;  // of the first sample, in samples

  TENON_HD float at(int64_t in_bin, int64_t sample) const {
    return start + bin * static_cast<float>(in_bin)
           + bin * (static_cast<float>(sample) + offset) / static_cast<float>(samples);
  }
};

// A box. Samples outside of the map are 0, or clamped to it. Without a map all is 0.
struct Crop {
  int64_t map;  // -1: none
  CropAxis rows, columns;
  bool clamps;
};

template <class E> struct CropMaps {
  static constexpr int kMax = 5;
  FeatureMap<E> map[kMax] = {};
  int count = 0;

  CropMaps() = default;
  explicit CropMaps(const Tensors<const E>& maps) {
    for (; count < maps.count; ++count) map[count] = map_of(maps[count]);
  }
  explicit CropMaps(const Tensor<const E>& one) : count(1) { map[0] = map_of(one); }

 private:
  static FeatureMap<E> map_of(const Tensor<const E>& x) {
    return {x.data, x.shape[0], x.shape[2], x.shape[3]};
  }
};

// What a bilinear sample reads: nothing outside of [0, extent - 1] unless it is clamped. Returns
// how many taps there are, up to kSampleTaps.
constexpr int kSampleTaps = 4;
TENON_HD inline int64_t crop_taps(int64_t height, int64_t width, float y, float x, bool clamps,
                                  int64_t step, float weight, Tap* taps) {
  const auto bottom = static_cast<float>(height - 1), right = static_cast<float>(width - 1);
  if (clamps) {
    y = fminf(fmaxf(y, 0.f), bottom);
    x = fminf(fmaxf(x, 0.f), right);
  }
  if (!(y >= 0 && y <= bottom && x >= 0 && x <= right)) return 0;
  // Of large maps the last row and column are not exact as floats.
  const int64_t row = std::min(static_cast<int64_t>(y), height - 1);
  const int64_t column = std::min(static_cast<int64_t>(x), width - 1);
  const int64_t below = row + (row + 1 < height), beside = column + (column + 1 < width);
  const float down = y - static_cast<float>(row), across = x - static_cast<float>(column);
  taps[0] = {(row * width + column) * step, (1 - down) * (1 - across) * weight};
  taps[1] = {(row * width + beside) * step, (1 - down) * across * weight};
  taps[2] = {(below * width + column) * step, down * (1 - across) * weight};
  taps[3] = {(below * width + beside) * step, down * across * weight};
  return kSampleTaps;
}

// The taps of sample `sample` of a pixel of the result.
template <class E>
TENON_HD int64_t sample_taps(const Crop& crop, const FeatureMap<E>& map, int64_t row,
                             int64_t column, int64_t sample, int64_t step, Tap* taps) {
  const int64_t across = crop.columns.samples;
  return crop_taps(map.height, map.width, crop.rows.at(row, sample / across),
                   crop.columns.at(column, sample % across), crop.clamps, step,
                   1 / static_cast<float>(crop.rows.samples * across), taps);
}

// Boxes of a call. `crops` gives the Crop of a box from its four numbers.
template <class E, class Crops> struct CropCall {
  CropMaps<E> maps;
  Crops crops;
  const E* boxes;
  E* y;
  int64_t boxes_of_image, channels, height, width;

  TENON_HD Crop crop(int64_t box) const {
    float numbers[4];
    for (int k = 0; k < 4; ++k) numbers[k] = static_cast<float>(boxes[box * 4 + k]);
    return crops(maps, numbers);
  }
};

#if defined(__CUDACC__)

// One element of the result.
template <class E, class Crops> struct CropElement {
  CropCall<E, Crops> call;

  TENON_HD void operator()(int64_t i) const {
    const int64_t column = i % call.width, row = i / call.width % call.height;
    const int64_t channel = i / (call.width * call.height) % call.channels;
    const int64_t box = i / (call.width * call.height * call.channels);
    const Crop crop = call.crop(box);
    call.y[i] = static_cast<E>(0.f);
    if (crop.map < 0) return;
    const FeatureMap<E>& map = call.maps.map[crop.map];
    const E* plane =
        map.data + (box / call.boxes_of_image * call.channels + channel) * map.height * map.width;
    float sum = 0;
    for (int64_t s = 0; s < crop.rows.samples * crop.columns.samples; ++s) {
      Tap taps[kSampleTaps];
      const int64_t count = sample_taps(crop, map, row, column, s, 1, taps);
      for (int64_t t = 0; t < count; ++t)
        sum += taps[t].weight * static_cast<float>(plane[taps[t].offset]);
    }
    call.y[i] = static_cast<E>(sum);
  }
};

#else

// Some pixels of a box at a time, of maps whose channels lie side by side.
template <class E, class Crops> class BoxCropper {
 public:
  BoxCropper(const CropCall<E, Crops>& call, const float* const* pixels)
      : call_(call), pixels_(pixels) {}

  template <int width> void run(int64_t box) {
    const Crop crop = call_.crop(box);
    const int64_t plane = call_.height * call_.width;
    E* const y = call_.y + box * call_.channels * plane;
    if (crop.map < 0)
      return static_cast<void>(std::fill_n(y, call_.channels * plane, static_cast<E>(0.f)));
    const FeatureMap<E>& map = call_.maps.map[crop.map];
    const float* const image =
        pixels_[crop.map] + box / call_.boxes_of_image * map.height * map.width * call_.channels;
    const int64_t samples = crop.rows.samples * crop.columns.samples;
    const int64_t together = std::min(samples, kMaxSamples);
    const int64_t block = std::clamp<int64_t>(kMaxSamples / samples, 1, kernels::kTilePixels);
    for (int64_t first = 0; first < plane; first += block) {
      const int64_t some = std::min(block, plane - first);
      if (together == samples) find(crop, map, first, some, 0, samples);
      for (int64_t c = 0; c < call_.channels; c += kernels::kTileChannels) {
        const int64_t channels = std::min(kernels::kTileChannels, call_.channels - c);
        std::fill_n(tile_, some * kernels::kTileChannels, 0.f);
        for (int64_t s = 0; s < samples; s += together) {
          const int64_t parts = std::min(together, samples - s);
          if (together != samples) find(crop, map, first, some, s, parts);
          for (int64_t p = 0; p < some; ++p)
            kernels::sum_pixels<width, true>(image + c, taps_ + p * parts * kSampleTaps, count_[p],
                                             channels, tile_ + p * kernels::kTileChannels);
        }
        kernels::pixels_to_planes(tile_, kernels::kTileChannels, some, channels,
                                  y + c * plane + first, plane);
      }
    }
  }

 private:
  static constexpr int64_t kMaxSamples = 256;

  // What `parts` samples from `sample` on of some pixels read.
  void find(const Crop& crop, const FeatureMap<E>& map, int64_t first, int64_t some, int64_t sample,
            int64_t parts) {
    for (int64_t p = 0; p < some; ++p) {
      Tap* const taps = taps_ + p * parts * kSampleTaps;
      count_[p] = 0;
      for (int64_t s = 0; s < parts; ++s)
        count_[p] += sample_taps(crop, map, (first + p) / call_.width, (first + p) % call_.width,
                                 sample + s, call_.channels, taps + count_[p]);
    }
  }

  const CropCall<E, Crops>& call_;
  const float* const* pixels_;  // of each map
  Tap taps_[kMaxSamples * kSampleTaps];
  int64_t count_[kernels::kTilePixels];
  alignas(64) float tile_[kernels::kTilePixels * kernels::kTileChannels];
};

#endif

// Bytes for the maps as floats, which the CPU reads.
size_t crop_workspace([[maybe_unused]] std::span<const Shape> maps) {
#if defined(__CUDACC__)
  return 0;
#else
  kernels::Carver carver;
  for (const Shape& map : maps) carver.array<float>(map.volume());
  return carver.bytes();
#endif
}

// Maps (N, C, height, width) and boxes (N, count, 4), or (N, count, 4, 1).
void require_crops(const Shape& boxes, std::span<const Shape> maps) {
  const bool is_list = boxes.rank() == 3 || (boxes.rank() == 4 && boxes[3] == 1);
  if (!is_list || boxes[2] != 4)
    throw std::invalid_argument("boxes must be (N, boxes, 4), found " + text_of(boxes));
  for (const Shape& map : maps) {
    if (map.rank() != 4 || map[0] != boxes[0] || map[1] != maps[0][1])
      throw std::invalid_argument(
          "a feature map must be (" + std::to_string(boxes[0])
          + ", C, height, width), as the boxes and the other maps are, found " + text_of(map));
    if (map[2] < 1 || map[3] < 1)
      throw std::invalid_argument("a feature map has no elements: " + text_of(map));
  }
}

Extents crop_extents(const Extents& boxes, const Extents& map, int64_t height, int64_t width) {
  if (boxes.size() < 3 || map.size() != 4)
    throw std::invalid_argument(
        "expected boxes (N, boxes, 4) and feature maps of 4 dimensions, found "
        + std::to_string(boxes.size()) + " and " + std::to_string(map.size()) + " dimensions");
  return {boxes[0], boxes[1], map[1], height, width};
}

template <class E, class Crops>
void crop_all(const Device& device, const Crops& crops, const CropMaps<E>& maps,
              const Tensor<const E>& boxes, const Tensor<E>& y) {
  const CropCall<E, Crops> call{maps,           crops,      boxes.data, y.data,
                                boxes.shape[1], y.shape[2], y.shape[3], y.shape[4]};
  if (y.shape.volume() == 0) return;
#if defined(__CUDACC__)
  device.parallel_for(y.shape.volume(), CropElement<E, Crops>{call});
#else
  kernels::Carver carver(device.workspace);
  const float* pixels[CropMaps<E>::kMax];
  for (int i = 0; i < maps.count; ++i) {
    const FeatureMap<E>& map = maps.map[i];
    const int64_t plane = map.height * map.width;
    auto* const to = carver.array<float>(map.images * call.channels * plane);
    kernels::planes_to_pixels(device, map.data, map.images, call.channels, plane, to);
    pixels[i] = to;
  }
  device.parallel_ranges(y.shape[0] * y.shape[1], 1, [&](int64_t begin, int64_t end) {
    with_wide_vectors([&, begin, end](auto vector) {
      BoxCropper<E, Crops> cropper(call, pixels);
      for (int64_t box = begin; box < end; ++box)
        cropper.template run<decltype(vector)::value>(box);
    });
  });
#endif
}

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

// The level of a box of this area: each has four times the area of the one before.
template <class E> TENON_HD int64_t level_of(const CropMaps<E>& maps, float area, float threshold) {
  int64_t level = 0;
  for (; level + 1 < maps.count && area > threshold; threshold *= 4) ++level;
  return level;
}

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
        level_of(maps, (bottom - top + more_y) * (right - left + more_x), threshold);
    const FeatureMap<E>& map = maps.map[level];
    return {level, axis(top, bottom, map.height), axis(left, right, map.width), true};
  }
};

struct PyramidRoiAlign {
  int32_t fpn_scale = 224, pooled_size = 7;
  std::vector<int32_t> image_size = {1024, 1024};
  bool is_absolute = true, rows_first = false, counts_pixels = false, is_legacy = false;
  PyramidCoordinates coordinates = PyramidCoordinates::kBoth;
  int32_t sampling_ratio = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr int kLevels = 4;
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
    require_at_least("pooled_size", pooled_size, 1);
    require_elements("image_size", image_size.size(), 2);
    for (const int32_t extent : image_size) require_at_least("image_size", extent, 1);
    if (sampling_ratio < 0 || sampling_ratio > 1024)
      throw std::invalid_argument("sampling_ratio must be 0 to 1024, found "
                                  + std::to_string(sampling_ratio));
    const auto number = static_cast<int>(coordinates);
    if (number < -1 || number > 2)
      throw std::invalid_argument("roi_coords_transform must be -1 to 2, found "
                                  + std::to_string(number));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in.size() != 1 + kLevels)
      throw std::invalid_argument("expected rois and 4 feature maps, found "
                                  + std::to_string(in.size()) + " inputs");
    out[0] = crop_extents(in[0], in[1], pooled_size, pooled_size);
  }
  void check(std::span<const Shape> in) const { require_crops(in[0], in.subspan(1)); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return crop_workspace(in.subspan(1));
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
    const int64_t level = level_of(maps, area, 224.f * 224 / 4);
    const float scale = 0.25f / static_cast<float>(1 << level);
    return {level, axis(box[0], box[2], scale), axis(box[1], box[3], scale), true};
  }
};

struct MultilevelCropAndResize {
  int32_t pooled_size = 7;
  std::vector<int32_t> image_size = {3, 832, 1344};

  using T = Types<float, Half, BFloat16>;
  static constexpr int kLevels = 5;
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

  void prepare() const {
    require_at_least("pooled_size", pooled_size, 1);
    require_elements("image_size", image_size.size(), 3);
    for (const int32_t extent : image_size) require_at_least("image_size", extent, 1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in.size() != 1 + kLevels)
      throw std::invalid_argument("expected rois and 5 feature maps, found "
                                  + std::to_string(in.size()) + " inputs");
    out[0] = crop_extents(in[0], in[1], pooled_size, pooled_size);
  }
  void check(std::span<const Shape> in) const { require_crops(in[0], in.subspan(1)); }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return crop_workspace(in.subspan(1));
  }
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
