// DynamicTRTResize 1: bicubic interpolation (A = -0.75, borders repeated) of x to the height and
// width of a second tensor, of which only the shape counts. As torch.nn.functional.interpolate.
#include <tenon/plugin.h>

#include <cmath>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

// Where an output coordinate lies in the input: four neighbours and their weights.
struct Taps {
  int32_t index[4];
  float weight[4];
};

// One axis of the resize.
struct Axis {
  int64_t in, out;
  bool align_corners;

  TENON_HD Taps taps(int64_t at) const {
    constexpr float kA = -0.75f;
    float position;
    if (align_corners) {
      const float scale = out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.f;
      position = scale * static_cast<float>(at);
    } else {
      const float scale = static_cast<float>(in) / static_cast<float>(out);
      position = scale * (static_cast<float>(at) + 0.5f) - 0.5f;
    }
    const float base = floorf(position), t = position - base;
    const auto near = [](float x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
    const auto far = [](float x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
    Taps taps{{}, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
    for (int k = 0; k < 4; ++k) {
      const int64_t i = static_cast<int64_t>(base) - 1 + k;
      taps.index[k] = static_cast<int32_t>(i < 0 ? 0 : i >= in ? in - 1 : i);
    }
    return taps;
  }
};

#if !defined(__CUDACC__)

// Separable: rows are interpolated along x once, and the last four of them are kept for the step
// along y. Works on tiles, so that these rows stay in the first-level cache.
template <class E> class Tile {
 public:
  static constexpr int64_t kWidth = 512, kHeight = 64, kSource = 1024;

  Tile(const E* plane, E* out, const Taps* columns, Axis rows, int64_t in_width, int64_t out_width)
      : plane_(plane),
        out_(out),
        columns_(columns),
        rows_(rows),
        in_width_(in_width),
        out_width_(out_width) {}

  void run(int64_t y0, int64_t x0) {
    const int64_t width = std::min(kWidth, out_width_ - x0);
    for (int64_t y = y0; y < std::min(y0 + kHeight, rows_.out); ++y) {
      const Taps taps = rows_.taps(y);
      const float* row[4];
      for (int k = 0; k < 4; ++k) row[k] = interpolated(taps.index[k], x0, width);
      E* out = out_ + y * out_width_ + x0;
      if constexpr (std::is_same_v<E, float>) {
        combine(row, taps.weight, out, width);
      } else {
        combine(row, taps.weight, result_, width);
        convert(result_, out, width);
      }
    }
  }

 private:
  static void combine(const float* const* row, const float* weight, float* __restrict out,
                      int64_t width) {
    const float* __restrict r0 = row[0];
    const float* __restrict r1 = row[1];
    const float* __restrict r2 = row[2];
    const float* __restrict r3 = row[3];
    const float w0 = weight[0], w1 = weight[1], w2 = weight[2], w3 = weight[3];
    for (int64_t x = 0; x < width; ++x) out[x] = r0[x] * w0 + r1[x] * w1 + r2[x] * w2 + r3[x] * w3;
  }

  // Row `y` of the input, interpolated along x. The four that an output row needs are neighbours,
  // so each has a slot of its own.
  const float* interpolated(int32_t y, int64_t x0, int64_t width) {
    float* to = buffer_[y % 4];
    if (held_[y % 4] == y) return to;
    held_[y % 4] = y;
    const E* from = plane_ + y * in_width_;
    if constexpr (!std::is_same_v<E, float>) {
      const int64_t first = columns_[x0].index[0];
      const int64_t count = columns_[x0 + width - 1].index[3] + 1 - first;
      if (count <= kSource) {  // else the tile shrinks its input, and uses few of its elements
        convert(from + first, source_, count);
        weigh(source_, first, columns_ + x0, to, width);
        return to;
      }
    }
    weigh(from, 0, columns_ + x0, to, width);
    return to;
  }

  // `from` points at element `first` of a row.
  template <class S>
  static void weigh(const S* from, int64_t first, const Taps* columns, float* __restrict to,
                    int64_t width) {
    for (int64_t x = 0; x < width; ++x) {
      const Taps& c = columns[x];
      to[x] = static_cast<float>(from[c.index[0] - first]) * c.weight[0]
              + static_cast<float>(from[c.index[1] - first]) * c.weight[1]
              + static_cast<float>(from[c.index[2] - first]) * c.weight[2]
              + static_cast<float>(from[c.index[3] - first]) * c.weight[3];
    }
  }

  const E* plane_;
  E* out_;
  const Taps* columns_;
  Axis rows_;
  int64_t in_width_, out_width_;
  int32_t held_[4] = {-1, -1, -1, -1};
  alignas(64) float buffer_[4][kWidth];
  alignas(64) float source_[std::is_same_v<E, float> ? 1 : kSource];
  alignas(64) float result_[std::is_same_v<E, float> ? 1 : kWidth];
};

#else

template <class E> struct ResizePixel {
  const E* x;
  E* y;
  Axis rows, columns;

  TENON_HD void operator()(int64_t i) const {
    const Taps r = rows.taps(i / columns.out % rows.out), c = columns.taps(i % columns.out);
    const E* plane = x + i / (columns.out * rows.out) * rows.in * columns.in;
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
      const E* row = plane + r.index[k] * columns.in;
      float part = 0;
      for (int l = 0; l < 4; ++l) part += static_cast<float>(row[c.index[l]]) * c.weight[l];
      sum += part * r.weight[k];
    }
    y[i] = static_cast<E>(sum);
  }
};

#endif

struct DynamicTrtResize {
  int32_t align_corners = 1;

  using T = Types<float, Half>;
  static constexpr auto attributes =
      std::tuple{attribute("align_corners", &DynamicTrtResize::align_corners)};
  // Version 2, because programs look for it in getPluginCreatorList().
  static constexpr Spec spec{.name = "DynamicTRTResize",
                             .inputs = {{"x", kT}, {"size_tensor", kAny}},
                             .outputs = {{"y", kT}},
                             .protocol = Protocol::kV2};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 4 || in[1].size() != 4)
      throw std::invalid_argument("x and size_tensor must have 4 dimensions (N, C, H, W)");
    out[0] = {in[0][0], in[0][1], in[1][2], in[1][3]};
  }
  void check(std::span<const Shape> in) const {
    constexpr int64_t kMost = INT32_MAX;
    if (in[0][2] < 1 || in[0][3] < 1 || in[0][2] > kMost || in[0][3] > kMost)
      throw std::invalid_argument("x is " + std::to_string(in[0][2]) + " x "
                                  + std::to_string(in[0][3]) + ", which cannot be resized");
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape> out) const {
    return static_cast<size_t>(std::max<int64_t>(out[0][3], 0)) * sizeof(Taps);
  }

  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const void>, Tensor<E> y) const {
    const Axis rows{x.shape[2], y.shape[2], align_corners != 0};
    const Axis columns{x.shape[3], y.shape[3], align_corners != 0};
#if defined(__CUDACC__)
    device.parallel_for(y.shape.volume(), ResizePixel<E>{x.data, y.data, rows, columns});
#else
    auto* taps = static_cast<Taps*>(device.workspace);
    for (int64_t i = 0; i < columns.out; ++i) taps[i] = columns.taps(i);
    const int64_t across = (columns.out + Tile<E>::kWidth - 1) / Tile<E>::kWidth;
    const int64_t down = (rows.out + Tile<E>::kHeight - 1) / Tile<E>::kHeight;
    device.parallel_ranges(
        x.shape[0] * x.shape[1] * down * across, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t plane = i / (across * down);
            Tile<E> tile(x.data + plane * rows.in * columns.in,
                         y.data + plane * rows.out * columns.out, taps, rows, columns.in,
                         columns.out);
            tile.run(i / across % down * Tile<E>::kHeight, i % across * Tile<E>::kWidth);
          }
        });
#endif
  }
};
TENON_PLUGIN(DynamicTrtResize);

}  // namespace tenon::plugins::TENON_TARGET
