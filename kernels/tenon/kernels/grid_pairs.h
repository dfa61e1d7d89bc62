/// Linear interpolation at positions of a grid, in planes as they lie. The positions are computed
/// once for all channels. Neighbours along a row are read as one, since gathers of single elements
/// are slow; and plane by plane, since one may stay in a near cache whatever the positions.
#pragma once

#include <type_traits>
#include <utility>

#include "tenon/kernels/grid_rule.h"
#include "tenon/kernels/wide_vectors.h"

#if !defined(__CUDACC__)

namespace tenon::kernels::inline TENON_TARGET {

/// Some pixels of a result, each with a pair of neighbours in each of kRows rows.
template <int axes> struct GridPairs {
  static constexpr int kPixels = 16, kRows = 1 << (axes - 1);
  int32_t offset[kPixels];  // of the first pair in a plane
  float weight[kRows][2 * kPixels];

  static int64_t groups(int64_t pixels) { return (pixels + kPixels - 1) / kPixels; }
  /// Of all pixels of a call.
  template <class E> static size_t bytes(const GridCall<E>& call) {
    return static_cast<size_t>(call.images * groups(call.pixels)) * sizeof(GridPairs);
  }

  void find(const GridRule& rule, const GridCall<float>& call, const float* grid) {
    const Axis columns(rule, grid, call.width), rows(rule, grid + 1, call.height);
    for (int p = 0; p < kPixels; ++p) offset[p] = rows.first[p];
    for (int r = 0; r < kRows; ++r)
      for (int p = 0; p < kPixels; ++p)
        for (int k = 0; k < 2; ++k)
          weight[r][2 * p + k] = rows.weight[r % 2][p] * columns.weight[k][p];
    if constexpr (axes == 3) {
      const Axis layers(rule, grid + 2, call.depth);
      for (int p = 0; p < kPixels; ++p)
        offset[p] += layers.first[p] * static_cast<int32_t>(call.height);
      for (int r = 0; r < kRows; ++r)
        for (int p = 0; p < kPixels; ++p)
          for (int k = 0; k < 2; ++k) weight[r][2 * p + k] *= layers.weight[r / 2][p];
    }
    for (int p = 0; p < kPixels; ++p)
      offset[p] = offset[p] * static_cast<int32_t>(call.width) + columns.first[p];
  }

 private:
  // Two neighbours along an axis, which has two elements at least, and their weights.
  struct Axis {
    int32_t first[kPixels];
    float weight[2][kPixels];

    Axis(const GridRule& rule, const float* grid, int64_t extent) {
      const auto end = static_cast<float>(extent - 1);
      float position[kPixels];
      for (int p = 0; p < kPixels; ++p) position[p] = grid_position(rule, grid[p * axes], extent);
      if (rule.padding == GridPadding::kReflection) {
        // Mirrors are the centres of the outermost elements, or their outer edges. Doubles tell
        // exactly how often a position far away is mirrored.
        const double mirror = rule.align_corners ? 0 : -0.5, period = 2 * (end - 2 * mirror);
        for (float& at : position) {
          const double from = fabs(at - mirror), rest = from - period * floor(from / period);
          at = static_cast<float>((rest < period - rest ? rest : period - rest) + mirror);
        }
      }
      if (rule.padding != GridPadding::kZeros)
        for (float& at : position) {
          at = at > 0 ? at : 0;
          at = at < end ? at : end;
        }
      for (int p = 0; p < kPixels; ++p) {
        const float below = floorf(position[p]), share = position[p] - below;
        float start = below > 0 ? below : 0;
        start = start < end - 1 ? start : end - 1;
        first[p] = static_cast<int32_t>(start);
        // At an edge only one of the neighbours is inside.
        const float ahead = below - start;
        weight[0][p] = ahead == 0 ? 1 - share : ahead == -1 ? share : 0;
        weight[1][p] = ahead == 0 ? share : ahead == 1 ? 1 - share : 0;
      }
    }
  };
};

/// Whether a call can be made with pairs: there must be some, and numbers that count them exactly.
template <class E> bool reads_grid_pairs(const GridRule& rule, int axes, const GridCall<E>& call) {
  constexpr int64_t kMaxExtent = int64_t{1} << 24;
  const auto has_pairs = [](int64_t extent) { return extent >= 2 && extent <= kMaxExtent; };
  return std::is_same_v<E, float> && rule.interpolation == GridInterpolation::kLinear
         && has_pairs(call.width) && has_pairs(call.height) && (axes == 2 || has_pairs(call.depth))
         && call.height * call.width <= INT32_MAX / call.depth;
}

/// to = the pairs of floats at each of width / 2 offsets.
template <int width>
[[gnu::always_inline]] inline void read_pairs(const float* from, const int32_t* offsets,
                                              Vector<width>& to) {
  if constexpr (width == 2) {
    to = *reinterpret_cast<const Vector<2>*>(from + *offsets);
  } else {
    Vector<width / 2> low, high;
    read_pairs<width / 2>(from, offsets, low);
    read_pairs<width / 2>(from, offsets + width / 4, high);
    [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
      to = __builtin_shufflevector(low, high, i...);
    }(std::make_integer_sequence<int, width>());
  }
}

/// to[i] = a[2 i] + a[2 i + 1], and then those of b.
template <int width>
[[gnu::always_inline]] inline void add_pairs(const Vector<width>& a, const Vector<width>& b,
                                             float* to) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    *reinterpret_cast<Vector<width>*>(to) =
        __builtin_shufflevector(a, b, (2 * i)...) + __builtin_shufflevector(a, b, (2 * i + 1)...);
  }(std::make_integer_sequence<int, width>());
}

/// Samples planes, `step` apart, into results that are to_step apart. `rows` are the distances of
/// the other pairs from the first. Elements without weight are left out, so that infinities there
/// do no harm.
template <int width, int planes, int axes>
[[gnu::always_inline]] inline void sample_group(const float* x, int64_t step, const int64_t* rows,
                                                const GridPairs<axes>& pairs, float* to,
                                                int64_t to_step) {
  using V = Vector<width>;
  for (int i = 0; i < GridPairs<axes>::kPixels; i += width) {
    V sum[planes][2] = {};
    for (int r = 0; r < GridPairs<axes>::kRows; ++r)
      for (int half = 0; half < 2; ++half) {
        const int pixel = i + half * (width / 2);
        const V weight = *reinterpret_cast<const V*>(pairs.weight[r] + 2 * pixel);
        for (int c = 0; c < planes; ++c) {
          V read;
          read_pairs<width>(x + c * step + rows[r], pairs.offset + pixel, read);
          V& s = sum[c][half];
          s = weight != 0 ? s + weight * read : s;
        }
      }
    for (int c = 0; c < planes; ++c) add_pairs<width>(sum[c][0], sum[c][1], to + c * to_step + i);
  }
}

/// Samples two planes at a time, which share weights and are still near.
template <int axes>
void sample_grid_pairs(const kit::Device& device, const GridRule& rule,
                       const GridCall<float>& call) {
  using Pairs = GridPairs<axes>;
  constexpr int64_t kPixels = Pairs::kPixels, kGroups = 256;  // of a block
  auto* const all = static_cast<Pairs*>(device.workspace);
  const int64_t pixels = call.pixels, groups = Pairs::groups(pixels);
  device.parallel_ranges(call.images * groups, 64, [&](int64_t begin, int64_t end) {
    with_wide_vectors([&](auto) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % groups * kPixels, count = std::min(kPixels, pixels - first);
        const float* grid = call.grid + (i / groups * pixels + first) * axes;
        float last[kPixels * axes] = {};
        if (count < kPixels) std::copy_n(grid, count * axes, last);
        all[i].find(rule, call, count < kPixels ? last : grid);
      }
    });
  });
  const int64_t plane = call.depth * call.height * call.width;
  const int64_t rows[] = {0, call.width, call.height * call.width, (call.height + 1) * call.width};
  const int64_t blocks = (groups + kGroups - 1) / kGroups, couples = (call.channels + 1) / 2;
  device.parallel_ranges(call.images * couples * blocks, 1, [&](int64_t begin, int64_t end) {
    with_wide_vectors([&](auto vector) {
      const auto sample = [&](auto planes, int64_t image, int64_t channel, int64_t block) {
        const float* x = call.x + (image * call.channels + channel) * plane;
        float* y = call.y + (image * call.channels + channel) * pixels;
        for (int64_t g = block * kGroups; g < std::min(groups, (block + 1) * kGroups); ++g) {
          const Pairs& pairs = all[image * groups + g];
          const int64_t count = pixels - g * kPixels;
          float last[2 * kPixels], *to = y + g * kPixels;
          const bool whole = count >= kPixels;
          sample_group<vector(), planes()>(x, plane, rows, pairs, whole ? to : last,
                                           whole ? pixels : kPixels);
          if (!whole)
            for (int c = 0; c < planes(); ++c)
              std::copy_n(last + c * kPixels, count, to + c * pixels);
        }
      };
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / blocks / couples, channel = i / blocks % couples * 2;
        if (channel + 1 < call.channels)
          sample(Width<2>(), image, channel, i % blocks);
        else
          sample(Width<1>(), image, channel, i % blocks);
      }
    });
  });
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
