// BEVPoolV2TRT and BEVPoolV2TRT2 1 (BEVFormer_tensorrt): BEVDet's pooling of points into cells.
// QuickCumsumCuda 1 (Autoware): BEVFusion's, whose points have features of their own.
#include <tenon/kernels/fill.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// Some channels of one interval: points that fall into one cell of the grid.
template <class E> struct PoolInterval {
  const E *depth, *features;
  const int32_t *depth_ranks, *feature_ranks, *cells, *starts, *lengths;
  E* y;
  int64_t channels, depths, pixels, points, cell_count;

  TENON_HD void operator()(int64_t interval, int64_t channel, int64_t some) const {
    const int64_t first = starts[interval], count = lengths[interval];
    if (first < 0 || count <= 0 || first + count > points) return;
    const int64_t cell = cells[first];
    if (cell < 0 || cell >= cell_count) return;
    float sums[kSpan];
    for (int64_t c = 0; c < some; ++c) sums[c] = 0;
    for (int64_t p = first; p < first + count; ++p) {
      const int64_t d = depth_ranks[p], f = feature_ranks[p];
      if (d < 0 || d >= depths || f < 0 || f >= pixels) continue;
      const auto weight = static_cast<float>(depth[d]);
      const InputSpan<E> from(features + f * channels + channel, some);
      for (int64_t c = 0; c < some; ++c) sums[c] += weight * from[c];
    }
    const OutputSpan<E> to(y + cell * channels + channel);
    for (int64_t c = 0; c < some; ++c) to[c] = sums[c];
    to.store(some);
  }
};

void require_intervals(const Tensor<const int32_t>& starts, const Tensor<const int32_t>& lengths,
                       int64_t points) {
#if !defined(__CUDACC__)
  for (int64_t i = 0; i < starts.shape.volume(); ++i)
    if (starts.data[i] < 0 || lengths.data[i] < 0
        || int64_t{starts.data[i]} + lengths.data[i] > points)
      throw std::invalid_argument("interval " + std::to_string(i) + " goes beyond the "
                                  + std::to_string(points) + " points");
#endif
}

struct BevPoolV2 {
  int32_t out_height = 0, out_width = 0;

  using T = Types<float, Half, BFloat16, Quantized>;
  static constexpr auto attributes =
      std::tuple{attribute("out_height", &BevPoolV2::out_height).required(),
                 attribute("out_width", &BevPoolV2::out_width).required()};
  static constexpr Spec spec{
      .name = "BEVPoolV2TRT",
      .inputs = {{"depth", kT},
                 {"feat", kT},
                 {"ranks_depth", kInt32},
                 {"ranks_feat", kInt32},
                 {"ranks_bev", kInt32},
                 {"interval_starts", kInt32},
                 {"interval_lengths", kInt32}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "BEVDet's bev_pool_v2: cells of a grid (1, out_height, out_width, C) are sums over their "
          "points of a depth (N, D, H, W) times the features of a pixel (N, H, W, C). Ranks are "
          "the elements, pixels and cells of points; those of a cell are an interval.",
      .differs =
          "Cells without points are 0, sums are float, and ranks outside are errors on the CPU. "
          "bfloat16; int8 is linear, with any number of channels."};

  void prepare() const {
    require_at_least("out_height", out_height, 1);
    require_at_least("out_width", out_width, 1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("feat", in[1], "N, H, W, C");
    out[0] = {1, out_height, out_width, in[1][3]};
  }
  void check(std::span<const Shape> in) const {
    const bool points = in[3].volume() == in[2].volume() && in[4].volume() == in[2].volume();
    if (!points || in[5].volume() != in[6].volume())
      throw std::invalid_argument(
          "the three ranks must have one length, and interval_starts and interval_lengths another; "
          "found "
          + text_of(in[2]) + ", " + text_of(in[3]) + ", " + text_of(in[4]) + " and "
          + text_of(in[5]) + ", " + text_of(in[6]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> depth, Tensor<const E> features,
           Tensor<const int32_t> depth_ranks, Tensor<const int32_t> feature_ranks,
           Tensor<const int32_t> cells, Tensor<const int32_t> starts, Tensor<const int32_t> lengths,
           Tensor<E> y) const {
    const int64_t channels = features.shape[3];
    if (channels == 0) return;
    const int64_t points = cells.shape.volume(), cell_count = int64_t{out_height} * out_width;
    const int64_t depths = depth.shape.volume(), pixels = features.shape.volume() / channels;
#if !defined(__CUDACC__)
    const auto require = [](const char* name, const Tensor<const int32_t>& ranks, int64_t count) {
      for (int64_t i = 0; i < ranks.shape.volume(); ++i)
        if (ranks.data[i] < 0 || ranks.data[i] >= count)
          throw std::invalid_argument(std::string(name) + "[" + std::to_string(i) + "] is "
                                      + std::to_string(ranks.data[i]) + "; there are "
                                      + std::to_string(count));
    };
    require("ranks_depth", depth_ranks, depths);
    require("ranks_feat", feature_ranks, pixels);
    require("ranks_bev", cells, cell_count);
#endif
    require_intervals(starts, lengths, points);
    kernels::fill(device, y.data, y.shape.volume(), static_cast<E>(0.f));
    device.parallel_spans(starts.shape.volume(), channels,
                          PoolInterval<E>{depth.data, features.data, depth_ranks.data,
                                          feature_ranks.data, cells.data, starts.data, lengths.data,
                                          y.data, channels, depths, pixels, points, cell_count});
  }
};
TENON_PLUGIN(BevPoolV2);
TENON_PLUGIN_AS(BevPoolV2, "BEVPoolV2TRT2");

// Some channels of one interval: points that fall into the cell of the first of them.
template <class E> struct SumInterval {
  const E* features;
  const int32_t *coordinates, *starts, *lengths;
  E* y;
  int64_t points, channels;
  int64_t extents[4];  // of batches, layers, rows, columns

  // A point's coordinates are its row, column, layer and batch; -1 outside.
  TENON_HD int64_t cell_of(int64_t point) const {
    constexpr int kAxes[] = {3, 2, 0, 1};
    int64_t cell = 0;
    for (int a = 0; a < 4; ++a) {
      const int64_t at = coordinates[point * 4 + kAxes[a]];
      if (at < 0 || at >= extents[a]) return -1;
      cell = cell * extents[a] + at;
    }
    return cell;
  }
  TENON_HD void operator()(int64_t interval, int64_t channel, int64_t some) const {
    const int64_t first = starts[interval], count = lengths[interval];
    if (first < 0 || count <= 0 || first + count > points) return;
    const int64_t cell = cell_of(first);
    if (cell < 0) return;
    float sums[kSpan];
    for (int64_t c = 0; c < some; ++c) sums[c] = 0;
    for (int64_t p = first; p < first + count; ++p) {
      const InputSpan<E> from(features + p * channels + channel, some);
      for (int64_t c = 0; c < some; ++c) sums[c] += from[c];
    }
    const OutputSpan<E> to(y + cell * channels + channel);
    for (int64_t c = 0; c < some; ++c) to[c] = sums[c];
    to.store(some);
  }
};

struct BevPool {
  int32_t batches = 0, layers = 0, height = 0, width = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("batch_size", &BevPool::batches).required(),
                 attribute("dimension", &BevPool::layers).required().says("layers of the grid"),
                 attribute("height", &BevPool::height).required(),
                 attribute("width", &BevPool::width).required()};
  static constexpr Spec spec{
      .name = "QuickCumsumCuda",
      .inputs = {{"x", kT},
                 {"geom_feats", kInt32},
                 {"interval_lengths", kInt32},
                 {"interval_starts", kInt32}},
      .outputs = {{"y", kT}},
      .text =
          "BEVFusion's bev_pool: cells of a grid (batch_size, dimension, height, width, C) are "
          "sums "
          "over their points' features x (points, C). geom_feats (points, 4) has the row, column, "
          "layer and batch of a point; those of a cell are an interval.",
      .differs =
          "On a CPU and any GPU. float16 and bfloat16; sums are float. Cells without points are 0, "
          "and intervals that go beyond the points are errors on the CPU."};

  void prepare() const {
    require_at_least("batch_size", batches, 1);
    require_at_least("dimension", layers, 1);
    require_at_least("height", height, 1);
    require_at_least("width", width, 1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("x", in[0], "points, C");
    out[0] = {batches, layers, height, width, in[0][1]};
  }
  void check(std::span<const Shape> in) const {
    require_shape("geom_feats", in[1], {in[0][0], 4});
    if (in[2].volume() != in[3].volume())
      throw std::invalid_argument(
          "interval_lengths and interval_starts must have one length, found " + text_of(in[2])
          + " and " + text_of(in[3]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const int32_t> coordinates,
           Tensor<const int32_t> lengths, Tensor<const int32_t> starts, Tensor<E> y) const {
    require_intervals(starts, lengths, x.shape[0]);
    kernels::fill(device, y.data, y.shape.volume(), static_cast<E>(0.f));
    device.parallel_spans(starts.shape.volume(), x.shape[1],
                          SumInterval<E>{x.data,
                                         coordinates.data,
                                         starts.data,
                                         lengths.data,
                                         y.data,
                                         x.shape[0],
                                         x.shape[1],
                                         {batches, layers, height, width}});
  }
};
TENON_PLUGIN(BevPool);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
