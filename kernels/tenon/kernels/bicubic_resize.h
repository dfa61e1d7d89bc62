/// Bicubic interpolation of planes (A = -0.75, borders repeated). Semantics: PyTorch's interpolate.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "tenon/kernels/cubic.h"
#include "tenon/kernels/wide_vectors.h"
#include "tenon/plugin/convert.h"
#include "tenon/plugin/device.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Where an output coordinate lies in the input: four neighbours and their weights.
struct CubicTaps {
  int32_t index[4];
  float weight[4];
};

/// One axis of a resize. The extents fit 32 bits.
struct CubicAxis {
  int64_t in, out;
  bool align_corners;
  /// From output to input coordinates, unless corners are aligned; 0 stands for in / out.
  float scale = 0;

  TENON_HD CubicTaps taps(int64_t at) const {
    float position;
    if (align_corners) {
      const float step = out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.f;
      position = step * static_cast<float>(at);
    } else {
      const float step = scale > 0 ? scale : static_cast<float>(in) / static_cast<float>(out);
      position = step * (static_cast<float>(at) + 0.5f) - 0.5f;
    }
    const float base = floorf(position);
    CubicTaps taps;
    cubic_weights(position - base, taps.weight);
    for (int k = 0; k < 4; ++k) {
      const int64_t i = static_cast<int64_t>(base) - 1 + k;
      taps.index[k] = static_cast<int32_t>(i < 0 ? 0 : i >= in ? in - 1 : i);
    }
    return taps;
  }
};

/// Throws std::invalid_argument for planes that have no pixels, or more than indices count.
inline void require_resizable(int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
    throw std::invalid_argument("x is " + std::to_string(height) + " x " + std::to_string(width)
                                + ", which cannot be resized");
}

#if !defined(__CUDACC__)

/// Separable: rows are interpolated along x once, and the last four of them are kept for the step
/// along y. Works on tiles, so that these rows stay in the L1 cache.
template <class E> class CubicTile {
 public:
  static constexpr int64_t kWidth = 512, kHeight = 64, kSource = 1024;

  CubicTile(const E* plane, E* out, const CubicTaps* columns, CubicAxis rows, int64_t in_width,
            int64_t out_width)
      : plane_(plane),
        out_(out),
        columns_(columns),
        rows_(rows),
        in_width_(in_width),
        out_width_(out_width) {}

  void run(int64_t y0, int64_t x0) {
    const int64_t width = std::min(kWidth, out_width_ - x0);
    for (int64_t y = y0; y < std::min(y0 + kHeight, rows_.out); ++y) {
      const CubicTaps taps = rows_.taps(y);
      const float* row[4];
      for (int k = 0; k < 4; ++k) row[k] = interpolated(taps.index[k], x0, width);
      E* out = out_ + y * out_width_ + x0;
      if constexpr (std::is_same_v<E, float>) {
        combine(row, taps.weight, out, width);
      } else {
        combine(row, taps.weight, result_, width);
        kit::convert(result_, out, width);
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
        kit::convert(from + first, source_, count);
        weigh(source_, first, columns_ + x0, to, width);
        return to;
      }
    }
    weigh(from, 0, columns_ + x0, to, width);
    return to;
  }

  // `from` points at element `first` of a row.
  template <class S>
  static void weigh(const S* from, int64_t first, const CubicTaps* columns, float* __restrict to,
                    int64_t width) {
    for (int64_t x = 0; x < width; ++x) {
      const CubicTaps& c = columns[x];
      to[x] = static_cast<float>(from[c.index[0] - first]) * c.weight[0]
              + static_cast<float>(from[c.index[1] - first]) * c.weight[1]
              + static_cast<float>(from[c.index[2] - first]) * c.weight[2]
              + static_cast<float>(from[c.index[3] - first]) * c.weight[3];
    }
  }

  const E* plane_;
  E* out_;
  const CubicTaps* columns_;
  CubicAxis rows_;
  int64_t in_width_, out_width_;
  int32_t held_[4] = {-1, -1, -1, -1};
  alignas(64) float buffer_[4][kWidth];
  alignas(64) float source_[std::is_same_v<E, float> ? 1 : kSource];
  alignas(64) float result_[std::is_same_v<E, float> ? 1 : kWidth];
};

/// Bytes of workspace for results of this width.
inline size_t bicubic_resize_workspace(int64_t width) {
  return static_cast<size_t>(std::max<int64_t>(width, 0)) * sizeof(CubicTaps);
}

/// Resizes x (planes, rows.in, columns.in) to y (planes, rows.out, columns.out).
template <class E>
void bicubic_resize(const kit::Device& device, const E* x, E* y, int64_t planes,
                    const CubicAxis& rows, const CubicAxis& columns) {
  auto* taps = static_cast<CubicTaps*>(device.workspace);
  for (int64_t i = 0; i < columns.out; ++i) taps[i] = columns.taps(i);
  using Tile = CubicTile<E>;
  const int64_t across = (columns.out + Tile::kWidth - 1) / Tile::kWidth;
  const int64_t down = (rows.out + Tile::kHeight - 1) / Tile::kHeight;
  device.parallel_ranges(planes * down * across, 1, [&](int64_t begin, int64_t end) {
    with_wide_vectors([&](auto) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t plane = i / (across * down);
        Tile tile(x + plane * rows.in * columns.in, y + plane * rows.out * columns.out, taps, rows,
                  columns.in, columns.out);
        tile.run(i / across % down * Tile::kHeight, i % across * Tile::kWidth);
      }
    });
  });
}

#else

inline size_t bicubic_resize_workspace(int64_t) {
  return 0;
}

/// A column of a strip of rows is a thread's. Rows of the input are interpolated along x once, and
/// the last four of them are kept for the step along y.
template <class E>
__global__ void __launch_bounds__(128)
    resize_columns(const E* x, E* y, int64_t planes, CubicAxis rows, CubicAxis columns) {
  constexpr int kStrip = 16;
  __shared__ CubicTaps down[kStrip];
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const CubicTaps across = columns.taps(column < columns.out ? column : columns.out - 1);
  const int64_t strips = (rows.out + kStrip - 1) / kStrip;
  for (int64_t i = blockIdx.y; i < planes * strips; i += gridDim.y) {
    const int64_t plane = i / strips, first = (i - plane * strips) * kStrip;
    const int count = static_cast<int>(rows.out - first < kStrip ? rows.out - first : kStrip);
    __syncthreads();  // the strip before is done
    if (threadIdx.x < count) down[threadIdx.x] = rows.taps(first + threadIdx.x);
    __syncthreads();
    const E* const from = x + plane * rows.in * columns.in;
    const auto interpolated = [&](int32_t row) {
      const E* const line = from + row * columns.in;
      float sum = 0;
#pragma unroll
      for (int l = 0; l < 4; ++l)
        sum += static_cast<float>(line[across.index[l]]) * across.weight[l];
      return sum;
    };
    E* to = y + (plane * rows.out + first) * columns.out + column;
    float parts[4] = {};
    for (int r = 0; r < count; ++r, to += columns.out) {
      // Whether the last `some` of the rows before are the first ones here.
      const auto follows = [&](int some) {
        bool all = r > 0;
#pragma unroll
        for (int k = 0; k < some; ++k)
          all = all && down[r].index[k] == down[r - 1].index[4 - some + k];
        return all;
      };
      if (!follows(4)) {
        const bool has_three = follows(3);
#pragma unroll
        for (int k = 0; k < 3; ++k)
          parts[k] = has_three ? parts[k + 1] : interpolated(down[r].index[k]);
        parts[3] = interpolated(down[r].index[3]);
      }
      float sum = 0;
#pragma unroll
      for (int k = 0; k < 4; ++k) sum += parts[k] * down[r].weight[k];
      if (column < columns.out) *to = static_cast<E>(sum);
    }
  }
}

template <class E>
void bicubic_resize(const kit::Device& device, const E* x, E* y, int64_t planes,
                    const CubicAxis& rows, const CubicAxis& columns) {
  const int64_t lines = planes * rows.out;
  if (lines * columns.out == 0) return;
  const dim3 grid(static_cast<unsigned>((columns.out + 127) / 128),
                  kit::Device::blocks((lines + 15) / 16));
  // clang-format off: it takes launches apart.
  resize_columns<E><<<grid, 128, 0, device.stream>>>(x, y, planes, rows, columns);
  // clang-format on
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
