// What BEVFormer and BEVDet want (BEVFormer_tensorrt): RotateTRT, InverseTRT, BEVPoolV2TRT and
// their second names.
#include <tenon/kernels/shape_text.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::text_of;

namespace {

enum class Interpolation { kBilinear = 0, kNearest = 1 };

// One element of an image (C, H, W) rotated about a centre.
template <class E> struct RotatedElement {
  const E *image, *angle, *center;
  E* y;
  int64_t height, width;
  Interpolation interpolation;

  TENON_HD void operator()(int64_t i) const {
    constexpr float kDegree = 0.017453292519943295f;
    const float angle_rad = -static_cast<float>(angle[0]) * kDegree;
    const float cosine = cosf(angle_rad), sine = sinf(angle_rad);
    const auto across = static_cast<float>(width), down = static_cast<float>(height);
    const float cx = static_cast<float>(center[0]) - across / 2;
    const float cy = static_cast<float>(center[1]) - down / 2;
    // From the middle of the image, and from the centre.
    const float x = static_cast<float>(i % width) + 0.5f - across / 2 - cx;
    const float at_y = static_cast<float>(i / width % height) + 0.5f - down / 2 - cy;
    const float column = cosine * x + sine * at_y + cx + (across - 1) / 2;
    const float row = -sine * x + cosine * at_y + cy + (down - 1) / 2;
    y[i] = static_cast<E>(sample(image + i / (width * height) * height * width, row, column));
  }

 private:
  TENON_HD float read(const E* plane, float row, float column) const {
    const bool is_inside = row >= 0 && column >= 0 && row < static_cast<float>(height)
                           && column < static_cast<float>(width);
    if (!is_inside) return 0;
    return static_cast<float>(
        plane[static_cast<int64_t>(row) * width + static_cast<int64_t>(column)]);
  }
  TENON_HD float sample(const E* plane, float row, float column) const {
    if (interpolation == Interpolation::kNearest) return read(plane, rintf(row), rintf(column));
    const float top = floorf(row), left = floorf(column);
    const float down = row - top, across = column - left;
    return (read(plane, top, left) * (1 - across) + read(plane, top, left + 1) * across)
               * (1 - down)
           + (read(plane, top + 1, left) * (1 - across) + read(plane, top + 1, left + 1) * across)
                 * down;
  }
};

struct Rotate {
  Interpolation interpolation = Interpolation::kNearest;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("interpolation", &Rotate::interpolation,
                {{"bilinear", Interpolation::kBilinear}, {"nearest", Interpolation::kNearest}})};
  static constexpr Spec spec{
      .name = "RotateTRT",
      .inputs = {{"img", kT}, {"angle", kT}, {"center", kT}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "An image (C, H, W) rotated by an angle in degrees, counter-clockwise, about a centre x, "
          "y in pixels, as torchvision's rotate. What comes from outside is 0.",
      .differs =
          "Places are worked out in float also in float16, and halves round to even, as PyTorch "
          "has it. bfloat16; no int8."};

  void check(std::span<const Shape> in) const {
    if (in[0].rank() != 3 || in[1].volume() != 1 || in[2].volume() != 2)
      throw std::invalid_argument(
          "expected an image (C, H, W), an angle (1) and a centre (2), found " + text_of(in[0])
          + ", " + text_of(in[1]) + " and " + text_of(in[2]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> image, Tensor<const E> angle,
           Tensor<const E> center, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(),
                        RotatedElement<E>{image.data, angle.data, center.data, y.data,
                                          image.shape[1], image.shape[2], interpolation});
  }
};
TENON_PLUGIN(Rotate);
TENON_PLUGIN_AS(Rotate, "RotateTRT2");

// Gauss-Jordan elimination with pivots, of the matrix in `left` beside its inverse in `y`.
struct InvertMatrix {
  const float* x;
  float *y, *left;
  int64_t n;

  TENON_HD void operator()(int64_t matrix) const {
    const float* from = x + matrix * n * n;
    float *a = left + matrix * n * n, *b = y + matrix * n * n;
    for (int64_t i = 0; i < n * n; ++i) {
      a[i] = from[i];
      b[i] = i / n == i % n ? 1.f : 0.f;
    }
    for (int64_t column = 0; column < n; ++column) {
      int64_t pivot = column;
      for (int64_t row = column + 1; row < n; ++row)
        if (fabsf(a[row * n + column]) > fabsf(a[pivot * n + column])) pivot = row;
      const float factor = 1 / a[pivot * n + column];
      for (int64_t i = 0; i < n; ++i) {
        swap(a[pivot * n + i], a[column * n + i]);
        swap(b[pivot * n + i], b[column * n + i]);
        a[column * n + i] *= factor;
        b[column * n + i] *= factor;
      }
      for (int64_t row = 0; row < n; ++row) {
        if (row == column) continue;
        const float times = a[row * n + column];
        for (int64_t i = 0; i < n; ++i) {
          a[row * n + i] -= times * a[column * n + i];
          b[row * n + i] -= times * b[column * n + i];
        }
      }
    }
  }

 private:
  TENON_HD static void swap(float& a, float& b) {
    const float kept = a;
    a = b;
    b = kept;
  }
};

struct Inverse {
  static constexpr Spec spec{.name = "InverseTRT",
                             .inputs = {{"x", kFloat}},
                             .outputs = {{"y", kFloat}},
                             .protocol = Protocol::kV2,
                             .text = "torch.inverse of matrices (..., n, n).",
                             .differs =
                                 "Pivots are chosen, and there is no limit to n. A matrix without "
                                 "an inverse gives infinities or NaNs."};

  void check(std::span<const Shape> in) const {
    const Shape& x = in[0];
    if (x.rank() < 2 || x[x.rank() - 1] != x[x.rank() - 2])
      throw std::invalid_argument("x must be of square matrices (..., n, n), found " + text_of(x));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return static_cast<size_t>(in[0].volume()) * sizeof(float);
  }
  template <class E> void run(const Device& device, Tensor<const float> x, Tensor<float> y) const {
    const int64_t n = x.shape[x.shape.rank() - 1];
    if (x.shape.volume() == 0) return;
    device.parallel_for(x.shape.volume() / (n * n),
                        InvertMatrix{x.data, y.data, static_cast<float*>(device.workspace), n});
  }
};
TENON_PLUGIN(Inverse);

template <class E> struct FillZero {
  E* y;
  TENON_HD void operator()(int64_t i) const { y[i] = static_cast<E>(0.f); }
};

// One channel of one interval: points that fall into one cell of the grid.
template <class E> struct PoolInterval {
  const E *depth, *features;
  const int32_t *depth_ranks, *feature_ranks, *cells, *starts, *lengths;
  E* y;
  int64_t channels, depths, pixels, points, cell_count;

  TENON_HD void operator()(int64_t i) const {
    const int64_t interval = i / channels, channel = i % channels;
    const int64_t first = starts[interval], count = lengths[interval];
    if (first < 0 || count <= 0 || first + count > points) return;
    const int64_t cell = cells[first];
    if (cell < 0 || cell >= cell_count) return;
    float sum = 0;
    for (int64_t p = first; p < first + count; ++p) {
      const int64_t d = depth_ranks[p], f = feature_ranks[p];
      if (d < 0 || d >= depths || f < 0 || f >= pixels) continue;
      sum += static_cast<float>(depth[d]) * static_cast<float>(features[f * channels + channel]);
    }
    y[cell * channels + channel] = static_cast<E>(sum);
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
    if (out_height < 1 || out_width < 1)
      throw std::invalid_argument("out_height and out_width must be at least 1, found "
                                  + std::to_string(out_height) + " and "
                                  + std::to_string(out_width));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[1].size() != 4)
      throw std::invalid_argument("feat must have 4 dimensions (N, H, W, C), found "
                                  + std::to_string(in[1].size()));
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
    device.parallel_for(y.shape.volume(), FillZero<E>{y.data});
    device.parallel_for(starts.shape.volume() * channels,
                        PoolInterval<E>{depth.data, features.data, depth_ranks.data,
                                        feature_ranks.data, cells.data, starts.data, lengths.data,
                                        y.data, channels, depths, pixels, points, cell_count});
  }
};
TENON_PLUGIN(BevPoolV2);
TENON_PLUGIN_AS(BevPoolV2, "BEVPoolV2TRT2");

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
