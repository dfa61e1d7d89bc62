// Regions of feature maps brought to one size in other ways than RoIAlign: amirstan's
// RoiPoolPluginDynamic and DeformablePoolPluginDynamic, MMCV's MMCVDeformRoIPool and PrRoIPool 1.
// Rows of rois are the number of an image, x1, y1, x2, y2.
#include <tenon/kernels/roi_levels.h>
#include <tenon/kernels/roi_region.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::FeatureMap;

namespace {

constexpr int64_t kRoiNumbers = 5;

template <class E> struct PooledMaps {
  FeatureMap<E> map[kernels::kMaxMaps] = {};
  int64_t channels;

  template <class List> static PooledMaps of(const List& maps, int count, int64_t channels) {
    PooledMaps all;
    all.channels = channels;
    for (int i = 0; i < count; ++i) {
      const Shape& s = maps[i].shape;
      all.map[i] = {maps[i].data, s[0], s[2], s[3]};
    }
    return all;
  }
};

// One element of the result. `pool(plane, height, width, roi, roi number, row, column)` gives it;
// `pool.level(roi)` is its map. A roi of no image gives 0 on a GPU.
template <class E, class Pool> struct PooledElement {
  PooledMaps<E> maps;
  Pool pool;
  const E* rois;
  E* y;
  int64_t height, width;

  TENON_HD void operator()(int64_t i) const {
    const int64_t column = i % width, row = i / width % height;
    const int64_t channel = i / (width * height) % maps.channels;
    const int64_t number = i / (width * height * maps.channels);
    float roi[kRoiNumbers];
    for (int k = 0; k < kRoiNumbers; ++k)
      roi[k] = static_cast<float>(rois[number * kRoiNumbers + k]);
    const FeatureMap<E>& map = maps.map[pool.level(roi)];
    const int64_t image = kernels::image_of(roi[0]);
    float value = 0;
    if (image >= 0 && image < map.images)
      value = pool(map.data + (image * maps.channels + channel) * map.height * map.width,
                   map.height, map.width, roi + 1, number, row, column);
    y[i] = static_cast<E>(value);
  }
};

template <class E, class Pool>
void pool_rois(const Device& device, const PooledMaps<E>& maps, const Pool& pool,
               const Tensor<const E>& rois, const Tensor<E>& y) {
#if !defined(__CUDACC__)
  for (int64_t i = 0; i < rois.shape[0]; ++i) {
    const float number = static_cast<float>(rois.data[i * kRoiNumbers]);
    const int64_t image = kernels::image_of(number);
    if (image < 0 || image >= maps.map[0].images)
      throw std::invalid_argument("region " + std::to_string(i) + " is of image "
                                  + std::to_string(number) + "; there are "
                                  + std::to_string(maps.map[0].images));
  }
#endif
  device.parallel_for(y.shape.volume(), PooledElement<E, Pool>{maps, pool, rois.data, y.data,
                                                               y.shape[2], y.shape[3]});
}

Extents pooled_extents(const Extents& rois, const Extents& map, int64_t height, int64_t width) {
  require_axes("rois", rois, "count, 5");
  require_axes("a feature map", map, "N, C, H, W");
  if (height < 1 || width < 1)
    throw std::invalid_argument("height and width of the result must be at least 1, found "
                                + std::to_string(height) + " and " + std::to_string(width));
  return {rois[0], map[1], height, width};
}

void require_rois(const Shape& rois, const Shape& map) {
  require_shape("rois", rois, "count, 5");
  if (map[2] < 1 || map[3] < 1)
    throw std::invalid_argument("a feature map has no elements: " + text_of(map));
}

// Maxima of the elements that a bin touches.
struct MaximumPool {
  kernels::RoiLevels levels;
  int64_t size;

  TENON_HD int64_t level(const float* roi) const {
    return levels.of(roi[3] - roi[1], roi[4] - roi[2]);
  }
  template <class E>
  TENON_HD float operator()(const E* plane, int64_t height, int64_t width, const float* roi,
                            int64_t, int64_t row, int64_t column) const {
    const float numbers[5] = {0, roi[0], roi[1], roi[2], roi[3]};
    const float scale = 1 / levels.stride[level(numbers)];
    const auto find = [&](float low, float high, int64_t bin, int64_t extent, int64_t* range) {
      const float middle = (low + high) / 2, half = levels.grown(high - low) / 2;
      const float start = (middle - half) * scale, length = (middle + half + 1) * scale - start;
      const float step = length / static_cast<float>(size);
      const auto inside = [&](float at) {
        return static_cast<int64_t>(fminf(fmaxf(at, 0.f), static_cast<float>(extent)));
      };
      range[0] = inside(floorf(static_cast<float>(bin) * step + start));
      range[1] = inside(ceilf(static_cast<float>(bin + 1) * step + start));
      return length > 0;
    };
    int64_t rows[2], columns[2];
    const bool has_rows = find(roi[1], roi[3], row, height, rows);
    const bool has_columns = find(roi[0], roi[2], column, width, columns);
    if (!has_rows || !has_columns || rows[0] >= rows[1] || columns[0] >= columns[1]) return 0;
    float largest = -HUGE_VALF;
    for (int64_t i = rows[0]; i < rows[1]; ++i)
      for (int64_t j = columns[0]; j < columns[1]; ++j)
        largest = fmaxf(largest, static_cast<float>(plane[i * width + j]));
    return largest;
  }
};

struct RoiPool {
  int32_t out_size = 7, finest_scale = 56;
  std::vector<float> strides;
  float roi_scale_factor = -1;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("out_size", &RoiPool::out_size).says("height and width of the result"),
                 attribute("featmap_strides", &RoiPool::strides).required(),
                 attribute("roi_scale_factor", &RoiPool::roi_scale_factor)
                     .says("regions grow by; if positive"),
                 attribute("finest_scale", &RoiPool::finest_scale)};
  static constexpr Spec spec{
      .name = "RoiPoolPluginDynamic",
      .inputs = {{"rois", kT}, {"feats", kT, kRepeated}},
      .outputs = {{"roi_feats", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmdet's SingleRoIExtractor with mmcv.ops.RoIPool: the largest element that each bin of "
          "a region touches, of the level that suits its size.",
      .differs =
          "Levels and roi_scale_factor are as mmdet has them, without the pixel that older "
          "versions add. float16 and bfloat16."};

  void prepare() const {
    if (strides.empty() || strides.size() > kernels::kMaxMaps)
      throw std::invalid_argument("featmap_strides must have 1 to 16 elements, found "
                                  + std::to_string(strides.size()));
    for (const float stride : strides)
      if (!(stride > 0))
        throw std::invalid_argument("featmap_strides must be positive, found "
                                    + std::to_string(stride));
    require_at_least("finest_scale", finest_scale, 1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in.size() != strides.size() + 1)
      throw std::invalid_argument("expected a feature map for each of "
                                  + std::to_string(strides.size()) + " featmap_strides, found "
                                  + std::to_string(in.size() - 1));
    for (const Extents& map : in.subspan(1))
      out[0] = pooled_extents(in[0], map, out_size, out_size);
    out[0][1] = in[1][1];
  }
  void check(std::span<const Shape> in) const {
    for (const Shape& map : in.subspan(1)) {
      require_rois(in[0], map);
      if (map[0] != in[1][0] || map[1] != in[1][1])
        throw std::invalid_argument(
            "feature maps must have one number of images and channels, found " + text_of(in[1])
            + " and " + text_of(map));
    }
  }
  template <class E>
  void run(const Device& device, Tensor<const E> rois, Tensors<const E> maps, Tensor<E> y) const {
    MaximumPool pool{{}, out_size};
    for (const float stride : strides) pool.levels.stride[pool.levels.count++] = stride;
    pool.levels.finest = static_cast<float>(finest_scale);
    pool.levels.factor = roi_scale_factor;
    pool_rois<E>(device, PooledMaps<E>::of(maps, maps.count, y.shape[1]), pool, rois, y);
  }
};
TENON_PLUGIN(RoiPool);

// Averages of bilinear samples of bins that are shifted by offsets (count, 2, height, width):
// columns, then rows, as parts of the region times gamma.
template <class E> struct ShiftedPool {
  const E* offsets;  // or null
  int64_t height, width, samples;
  float scale, gamma;

  TENON_HD int64_t level(const float*) const { return 0; }
  TENON_HD float operator()(const E* plane, int64_t map_height, int64_t map_width, const float* roi,
                            int64_t number, int64_t row, int64_t column) const {
    kernels::Region region = kernels::Region::of_corners(0, 0, roi, scale, true);
    if (offsets != nullptr) {
      const E* offset = offsets + number * 2 * height * width + row * width + column;
      region.x += gamma * region.width * static_cast<float>(offset[0]);
      region.y += gamma * region.height * static_cast<float>(offset[height * width]);
    }
    const kernels::RoiAlignRule rule{height, width, samples};
    const kernels::RoiAxis rows = region.rows(rule), columns = region.columns(rule);
    const kernels::RoiSamples down = region.row_samples(rows, row, map_height, map_width);
    const kernels::RoiSamples across =
        region.column_samples(columns, column, map_height, map_width);
    float sum = 0;
    for (int64_t i = down.first; i < down.end; ++i)
      for (int64_t j = across.first; j < across.end; ++j) {
        kernels::Tap taps[4];
        if (!kernels::find_taps(region, map_height, map_width, rows.at(row, i),
                                columns.at(column, j), 1, taps))
          continue;
        for (const kernels::Tap& t : taps) sum += static_cast<float>(plane[t.offset]) * t.weight;
      }
    const int64_t count = rows.samples * columns.samples;
    return count > 0 ? sum / static_cast<float>(count) : 0.f;
  }
};

struct DeformableRoiPool {
  std::vector<int32_t> out_size = {7, 7};
  float spatial_scale = 1, gamma = 0.1f;
  float sampling_ratio = 0;  // MMCV exports a float

  using T = Types<float, Half, BFloat16>;

  void prepare() const {
    require_elements("out_size", out_size.size(), 2);
    if (!(sampling_ratio >= 0 && sampling_ratio <= 1024))
      throw std::invalid_argument("sampling_ratio must be 0 to 1024, found "
                                  + std::to_string(sampling_ratio));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = pooled_extents(in[1], in[0], out_size[0], out_size[1]);
  }
  void check(std::span<const Shape> in) const {
    require_rois(in[1], in[0]);
    if (in.size() < 3) return;
    require_shape("offset", in[2], {in[1][0], 2, out_size[0], out_size[1]});
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> rois, Tensor<const E> offset,
           Tensor<E> y) const {
    pool_rois<E>(device, PooledMaps<E>::of(&x, 1, y.shape[1]),
                 ShiftedPool<E>{offset.data, out_size[0], out_size[1],
                                static_cast<int64_t>(sampling_ratio), spatial_scale, gamma},
                 rois, y);
  }
};

constexpr Spec deformable_pool_spec(const char* name) {
  return {.name = name,
          .inputs = {{"input", kT}, {"rois", kT}, {"offset", kT, kOptional}},
          .outputs = {{"output", kT}},
          .protocol = Protocol::kV2,
          .text =
              "mmcv.ops.DeformRoIPool: averages of bilinear samples of bins, which an offset "
              "(count, 2, height, width) moves by parts of the region times gamma, columns first.",
          .differs = "A missing offset is none. float16 and bfloat16."};
}

struct AmirstanDeformablePool : DeformableRoiPool {
  static constexpr auto attributes =
      std::tuple{attribute("out_size", &AmirstanDeformablePool::out_size).says("height and width"),
                 attribute("spatial_scale", &AmirstanDeformablePool::spatial_scale),
                 attribute("sampling_ratio", &AmirstanDeformablePool::sampling_ratio)
                     .says("samples per bin and axis; 0: as many as elements it covers"),
                 attribute("gamma", &AmirstanDeformablePool::gamma)};
  static constexpr Spec spec = deformable_pool_spec("DeformablePoolPluginDynamic");
};
TENON_PLUGIN(AmirstanDeformablePool);

struct MmcvDeformRoiPool : DeformableRoiPool {
  int32_t height = 7, width = 7;

  static constexpr auto attributes =
      std::tuple{attribute("pooled_height", &MmcvDeformRoiPool::height),
                 attribute("pooled_width", &MmcvDeformRoiPool::width),
                 attribute("spatial_scale", &MmcvDeformRoiPool::spatial_scale),
                 attribute("sampling_ratio", &MmcvDeformRoiPool::sampling_ratio)
                     .says("samples per bin and axis; 0: as many as elements it covers"),
                 attribute("gamma", &MmcvDeformRoiPool::gamma)};
  static constexpr Spec spec = deformable_pool_spec("MMCVDeformRoIPool");

  void prepare() {
    out_size = {height, width};
    DeformableRoiPool::prepare();
  }
};
TENON_PLUGIN(MmcvDeformRoiPool);

// The integral of the bilinear surface over a bin, by its area. It is a product of integrals along
// the axes, as the surface is of hats around elements. Outside of the map the surface falls to 0.
struct PreciseAxis {
  float low, high;

  TENON_HD float weight(int64_t element) const {
    const auto at = static_cast<float>(element);
    return below(high - at) - below(low - at);
  }

 private:
  // Of a hat of height 1 around 0, up to t.
  TENON_HD static float below(float t) {
    t = fminf(fmaxf(t, -1.f), 1.f);
    return t < 0 ? (1 + t) * (1 + t) / 2 : 1 - (1 - t) * (1 - t) / 2;
  }
};

struct PrecisePool {
  int64_t height, width;
  float scale;

  TENON_HD int64_t level(const float*) const { return 0; }
  template <class E>
  TENON_HD float operator()(const E* plane, int64_t map_height, int64_t map_width, const float* roi,
                            int64_t, int64_t row, int64_t column) const {
    const PreciseAxis rows = bin_of(roi[1], roi[3], height, row);
    const PreciseAxis columns = bin_of(roi[0], roi[2], width, column);
    const float area = (rows.high - rows.low) * (columns.high - columns.low);
    if (!(area > 0)) return 0;
    float sum = 0;
    for (int64_t i = first(rows, map_height); i < end(rows, map_height); ++i) {
      float across = 0;
      for (int64_t j = first(columns, map_width); j < end(columns, map_width); ++j)
        across += static_cast<float>(plane[i * map_width + j]) * columns.weight(j);
      sum += across * rows.weight(i);
    }
    return sum / area;
  }

 private:
  TENON_HD PreciseAxis bin_of(float low, float high, int64_t bins, int64_t bin) const {
    const float step = fmaxf(high - low, 0.f) * scale / static_cast<float>(bins);
    const float start = low * scale + step * static_cast<float>(bin);
    return {start, start + step};
  }
  TENON_HD static int64_t first(const PreciseAxis& axis, int64_t extent) {
    return static_cast<int64_t>(fminf(fmaxf(floorf(axis.low), 0.f), static_cast<float>(extent)));
  }
  TENON_HD static int64_t end(const PreciseAxis& axis, int64_t extent) {
    return static_cast<int64_t>(
        fminf(fmaxf(ceilf(axis.high) + 1, 0.f), static_cast<float>(extent)));
  }
};

struct PrRoiPool {
  int32_t height = 7, width = 7;
  float spatial_scale = 1;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("pooled_height", &PrRoiPool::height), attribute("pooled_width", &PrRoiPool::width),
      attribute("spatial_scale", &PrRoiPool::spatial_scale)};
  static constexpr Spec spec{
      .name = "PrRoIPool",
      .inputs = {{"features", kT}, {"rois", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.PrRoIPool: the integral of the bilinear surface over each bin, by its area.",
      .differs = "There is none for TensorRT elsewhere. float16 and bfloat16."};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = pooled_extents(in[1], in[0], height, width);
  }
  void check(std::span<const Shape> in) const { require_rois(in[1], in[0]); }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> rois, Tensor<E> y) const {
    pool_rois<E>(device, PooledMaps<E>::of(&x, 1, y.shape[1]),
                 PrecisePool{height, width, spatial_scale}, rois, y);
  }
};
TENON_PLUGIN(PrRoiPool);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
