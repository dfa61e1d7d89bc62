// BEVPoolV2TRT and BEVPoolV2TRT2 1 (BEVFormer_tensorrt): BEVDet's pooling of points into cells.
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

struct BevPoolV2 {
  int32_t out_height = 0, out_width = 0;

  using T = Types<float, Half, BFloat16>;
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
          "bfloat16; no int8."};

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
    for (int64_t i = 0; i < starts.shape.volume(); ++i)
      if (starts.data[i] < 0 || lengths.data[i] < 0
          || int64_t{starts.data[i]} + lengths.data[i] > points)
        throw std::invalid_argument("interval " + std::to_string(i) + " goes beyond the "
                                    + std::to_string(points) + " points");
#endif
    kernels::fill(device, y.data, y.shape.volume(), static_cast<E>(0.f));
    device.parallel_spans(starts.shape.volume(), channels,
                          PoolInterval<E>{depth.data, features.data, depth_ranks.data,
                                          feature_ranks.data, cells.data, starts.data, lengths.data,
                                          y.data, channels, depths, pixels, points, cell_count});
  }
};
TENON_PLUGIN(BevPoolV2);
TENON_PLUGIN_AS(BevPoolV2, "BEVPoolV2TRT2");

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
