/// Rows brought to mean 0 and variance 1: instance, group and layer normalisation.
///
/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and (biased) variance of a
/// row, as torch.nn.functional.instance_norm, group_norm and layer_norm. Large means cost no
/// accuracy: deviations are summed, never squares.
#pragma once

#include <tenon/plugin/convert.h>
#include <tenon/plugin/device.h>

#include "tenon/kernels/leaky.h"
#include "tenon/kernels/warp.h"
#include "tenon/kernels/wide_vectors.h"

namespace tenon::kernels::inline TENON_TARGET {

/// [rows][channels][inner] elements, normalised by row. Scale and bias have an element for each of
/// `channels` in each of `groups` rows, after which they repeat.
struct NormalizationLayout {
  int64_t rows, channels, inner, groups;

  TENON_HD int64_t length() const { return channels * inner; }
  TENON_HD int64_t parameter(int64_t row) const { return row % groups * channels; }
};

struct NormalizationOptions {
  float epsilon = 1e-5f;
  float negative_slope = 1;  ///< negative results are multiplied by it: 0 is a ReLU, 1 does nothing
};

/// What the mean and the variance of elements are computed from.
struct Moments {
  double count = 0, mean = 0, squares = 0;  // squares: of the deviations from the mean

  TENON_HD void add(const Moments& other) {
    if (other.count == 0) return;
    const double total = count + other.count, delta = other.mean - mean;
    squares += other.squares + delta * delta * (count * other.count / total);
    mean += delta * (other.count / total);
    count = total;
  }
  /// Of elements whose distances from `origin` have these sums.
  TENON_HD static Moments around(float origin, double count, double sum, double squares) {
    const double shift = sum / count;
    return {count, origin + shift, squares - sum * shift};
  }
};

/// (x - mean) * factor + offset: a channel's part of a normalisation. What a float mean loses is
/// in the offset.
struct NormalizedChannel {
  float mean, factor, offset, negative_slope;

  TENON_HD NormalizedChannel(const Moments& m, const NormalizationOptions& options, float scale,
                             float bias)
      : mean(static_cast<float>(m.mean)),
        factor(static_cast<float>(1 / sqrt(m.squares / m.count + options.epsilon)) * scale),
        offset(bias - static_cast<float>(m.mean - mean) * factor),
        negative_slope(options.negative_slope) {}
  TENON_HD float operator()(float x) const {
    const float y = (x - mean) * factor + offset;
    return leaky(y, negative_slope);
  }
};

/// What is normalised: the elements of one tensor.
template <class E> struct Elements {
  using Type = E;
  const E* x;

  TENON_HD float operator()(int64_t i) const { return static_cast<float>(x[i]); }
#if !defined(__CUDACC__)
  /// Elements [at, at + n) as floats, in `workspace` or in place.
  const float* read(int64_t at, int64_t n, float* buffer) const {
    if constexpr (std::is_same_v<E, float>) return x + at;
    kit::convert(x + at, buffer, n);
    return buffer;
  }
#endif
};

/// What is normalised: the sum of two tensors, which is stored too unless `sum` is null.
template <class E> struct SumOfElements {
  using Type = E;
  const E* a;
  const E* b;
  E* sum;

#if defined(__CUDACC__)
  __device__ float operator()(int64_t i) const {
    const float total = static_cast<float>(a[i]) + static_cast<float>(b[i]);
    if (sum != nullptr) sum[i] = static_cast<E>(total);
    return total;
  }
#else
  static constexpr int64_t kBlock = 512;
  const float* read(int64_t at, int64_t n, float* buffer) const {
    for (int64_t from = 0; from < n; from += kBlock) {
      const int64_t count = std::min(kBlock, n - from);
      float other[kBlock];
      kit::convert(a + at + from, buffer + from, count);
      kit::convert(b + at + from, other, count);
      for (int64_t i = 0; i < count; ++i) buffer[from + i] += other[i];
    }
    if (sum != nullptr) kit::convert(buffer, sum + at, n);
    return buffer;
  }
#endif
};

#if defined(__CUDACC__)

/// The sum of all threads of a block.
template <int threads, class V> __device__ V block_sum(V own) {
  __shared__ V parts[threads / kWarp];
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    own += __shfl_xor_sync(kAllLanes, own, distance);
  __syncthreads();  // the sum before is read
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = own;
  __syncthreads();
  V sum = 0;
#pragma unroll
  for (const V& part : parts) sum += part;
  return sum;
}

/// The moments of elements [begin, end), for all threads of a block. Distances are taken from the
/// mean of some elements that threads hold in registers.
template <int threads, class Source>
__device__ Moments moments_of(const Source& x, int64_t begin, int64_t end) {
  constexpr int kHeld = 16;
  Moments all;
  for (int64_t at = begin; at < end; at += threads * kHeld) {
    const int64_t left = end - at;
    const int count = left < threads * kHeld ? static_cast<int>(left) : threads * kHeld;
    float held[kHeld];
    float sum = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const int i = k * threads + static_cast<int>(threadIdx.x);
      held[k] = i < count ? x(at + i) : 0;
      sum += held[k];
    }
    const float mean = block_sum<threads>(sum) / static_cast<float>(count);
    sum = 0;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const float d = k * threads + static_cast<int>(threadIdx.x) < count ? held[k] - mean : 0;
      sum += d;
      squares += d * d;
    }
    all.add(Moments::around(mean, count, block_sum<threads>(sum), block_sum<threads>(squares)));
  }
  return all;
}

/// What becomes of a row's elements.
template <class Source, class P> struct NormalizedRow {
  using E = typename Source::Type;
  Source x;
  E* y;
  const P *scale, *bias;
  NormalizationLayout layout;
  NormalizationOptions options;

  /// Writes [begin, end) of a row, which has these moments, by all threads of a block.
  template <int threads>
  __device__ void write(int64_t row, const Moments& moments, int64_t begin, int64_t end) const {
    constexpr int kHeld = 8;
    const NormalizedChannel normalized(moments, {options.epsilon, 1}, 1, 0);
    const int64_t first = row * layout.length(), parameter = layout.parameter(row);
    for (int64_t at = begin + threadIdx.x; at < end; at += threads * kHeld) {
      float held[kHeld];  // read before the first of them is written
#pragma unroll
      for (int k = 0; k < kHeld; ++k)
        if (at + k * threads < end) held[k] = normalized(x(first + at + k * threads));
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        const int64_t i = at + k * threads;
        if (i >= end) break;
        const int64_t p = parameter + channel_of(i);
        const float value = held[k] * (scale == nullptr ? 1.f : static_cast<float>(scale[p]))
                            + (bias == nullptr ? 0.f : static_cast<float>(bias[p]));
        y[first + i] = static_cast<E>(leaky(value, options.negative_slope));
      }
    }
  }

 private:
  __device__ int64_t channel_of(int64_t i) const {
    if (layout.channels == 1) return 0;
    if (layout.inner == 1) return i;
    return i <= UINT32_MAX && layout.inner <= UINT32_MAX
               ? static_cast<uint32_t>(i) / static_cast<uint32_t>(layout.inner)
               : i / layout.inner;
  }
};

/// A row is a block's. Two passes over memory, the second from the L2 cache.
template <class Source, class P, int threads>
__global__ void __launch_bounds__(threads) normalize_rows(NormalizedRow<Source, P> all) {
  const int64_t n = all.layout.length();
  for (int64_t row = blockIdx.x; row < all.layout.rows; row += gridDim.x)
    all.template write<threads>(row, moments_of<threads>(all.x, row * n, (row + 1) * n), 0, n);
}

/// Few long rows, in parts: the moments of each part, and then what becomes of its elements.
struct RowParts {
  static constexpr int kThreads = 256;
  static constexpr int64_t kMaxParts = 1024, kPart = 16 * kThreads;  // altogether; elements
  int64_t count;                                                     // of a row
  Moments* moments;

  RowParts(const NormalizationLayout& layout, void* workspace)
      : count(std::min(kMaxParts / layout.rows, layout.length() / kPart)),
        moments(static_cast<Moments*>(workspace)) {}
  __device__ int64_t begin(int64_t part, int64_t length) const { return length * part / count; }
  /// The moments of a row, for all threads of a block.
  __device__ Moments together(int64_t row, int64_t length) const {
    const Moments* const of_row = moments + row * count;
    double sum = 0, squares = 0;
    for (int64_t i = threadIdx.x; i < count; i += kThreads) sum += of_row[i].count * of_row[i].mean;
    const double mean = block_sum<kThreads>(sum) / static_cast<double>(length);
    for (int64_t i = threadIdx.x; i < count; i += kThreads) {
      const double distance = of_row[i].mean - mean;
      squares += of_row[i].squares + of_row[i].count * distance * distance;
    }
    return {static_cast<double>(length), mean, block_sum<kThreads>(squares)};
  }
};

template <class Source>
__global__ void __launch_bounds__(RowParts::kThreads)
    find_moments(Source x, int64_t length, RowParts parts) {
  const int64_t row = blockIdx.y, part = blockIdx.x, first = row * length;
  const Moments found = moments_of<RowParts::kThreads>(x, first + parts.begin(part, length),
                                                       first + parts.begin(part + 1, length));
  if (threadIdx.x == 0) parts.moments[row * parts.count + part] = found;
}

template <class Source, class P>
__global__ void __launch_bounds__(RowParts::kThreads)
    normalize_parts(NormalizedRow<Source, P> all, RowParts parts) {
  const int64_t n = all.layout.length(), row = blockIdx.y, part = blockIdx.x;
  all.template write<RowParts::kThreads>(row, parts.together(row, n), parts.begin(part, n),
                                         parts.begin(part + 1, n));
}

#else

// One pass over memory: rows up to some megabytes are still in the L2 cache when they are
// written. What is read of shorter ones is kept.
template <class Source, class P> struct NormalizeRow {
  using E = typename Source::Type;
  static constexpr int64_t kBlock = 2048, kLanes = 32, kKept = 4096;

  Source x;
  E* y;
  const P *scale, *bias;
  NormalizationLayout layout;
  NormalizationOptions options;

  void operator()(const kit::Team&, int64_t row) const {
    const int64_t first = row * layout.length(), parameter = layout.parameter(row);
    alignas(64) float kept[kKept];
    const Row from{x, first,
                   layout.length() > kKept ? nullptr : x.read(first, layout.length(), kept)};
    const Moments moments = moments_of(from);
    if (layout.inner == 1) return write_elements(from, moments, parameter);
    for (int64_t c = 0; c < layout.channels; ++c)
      write_channel(
          from, c * layout.inner,
          {moments, options, value(scale, parameter + c, 1), value(bias, parameter + c, 0)});
  }

 private:
  struct Row {
    const Source& x;
    int64_t first;
    const float* kept;  // all of it, or null

    // Elements [at, at + n), in `buffer` or elsewhere.
    const float* read(int64_t at, int64_t n, float* buffer) const {
      return kept != nullptr ? kept + at : x.read(first + at, n, buffer);
    }
  };

  static float value(const P* list, int64_t i, float neutral) {
    return list == nullptr ? neutral : static_cast<float>(list[i]);
  }

  // Distances of a block are taken from the mean of what came before it: that costs no accuracy
  // when the block's own mean is elsewhere, as the variance of the row is then at least as large.
  Moments moments_of(const Row& row) const {
    alignas(64) float buffer[kBlock];
    Moments moments;
    for (int64_t at = 0; at < layout.length(); at += kBlock) {
      const int64_t n = std::min(kBlock, layout.length() - at);
      const float* block = row.read(at, n, buffer);
      const double origin = at == 0 ? moments_of(block, n, 0).mean : moments.mean;
      moments.add(moments_of(block, n, static_cast<float>(origin)));
    }
    return moments;
  }
  static Moments moments_of(const float* x, int64_t n, float origin) {
    float sums[kLanes] = {}, squares[kLanes] = {};
    with_wide_vectors([&](auto) {
      float sum[kLanes] = {}, square[kLanes] = {};
      int64_t i = 0;
      for (; i + kLanes <= n; i += kLanes)
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const float d = x[i + lane] - origin;
          sum[lane] += d;
          square[lane] += d * d;
        }
      std::copy_n(sum, kLanes, sums);
      std::copy_n(square, kLanes, squares);
      for (; i < n; ++i) {
        const float d = x[i] - origin;
        sums[0] += d;
        squares[0] += d * d;
      }
    });
    return Moments::around(origin, static_cast<double>(n), total(sums), total(squares));
  }
  static double total(const float* lanes) {
    double sum = 0;
    for (int64_t lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(lanes[lane]);
    return sum;
  }

  void write_channel(const Row& row, int64_t at, const NormalizedChannel& normalized) const {
    write(row, at, layout.inner, [&](const float* from, float* to, int64_t n) {
      with_wide_vectors([=, f = normalized](auto) {
        const NormalizedChannel g = f;  // not in memory, which `to` could point at
        for (int64_t i = 0; i < n; ++i) to[i] = g(from[i]);
      });
    });
  }

  // Each element has its own scale and bias.
  void write_elements(const Row& row, const Moments& moments, int64_t parameter) const {
    const NormalizedChannel normalized(moments, {options.epsilon, 1}, 1, 0);
    int64_t at = parameter;
    write(row, 0, layout.channels, [&](const float* from, float* to, int64_t n) {
      alignas(64) float scales[kBlock], biases[kBlock];
      const float* s = spread(scale, at, n, 1, scales);
      const float* b = spread(bias, at, n, 0, biases);
      with_wide_vectors([=, f = normalized, slope = options.negative_slope](auto) {
        const NormalizedChannel g = f;  // not in memory, which `to` could point at
        for (int64_t i = 0; i < n; ++i) {
          to[i] = leaky(g(from[i]) * s[i] + b[i], slope);
        }
      });
      at += n;
    });
  }
  // Elements of a parameter as floats, in `workspace` or in place.
  static const float* spread(const P* list, int64_t at, int64_t n, float neutral, float* buffer) {
    if (list != nullptr) return Elements<P>{list}.read(at, n, buffer);
    std::fill_n(buffer, n, neutral);
    return buffer;
  }

  // body(from, to, n) over blocks of elements [first, first + length) of a row.
  template <class F>
  void write(const Row& row, int64_t first, int64_t length, const F& body) const {
    alignas(64) float buffer[kBlock], result[kBlock];
    for (int64_t at = 0; at < length; at += kBlock) {
      const int64_t n = std::min(kBlock, length - at);
      const float* from = row.read(first + at, n, buffer);
      E* const to = y + row.first + first + at;
      if constexpr (std::is_same_v<E, float>) {
        body(from, to, n);
      } else {
        body(from, result, n);
        kit::convert(result, to, n);
      }
    }
  }
};

#endif

/// Bytes of workspace with which few long rows are normalised in parts.
inline constexpr size_t kNormalizationWorkspace =
#if defined(__CUDACC__)
    RowParts::kMaxParts * sizeof(Moments);
#else
    0;
#endif

/// Normalises rows of `x` (Elements or SumOfElements) into `y`. `scale` and `bias`, of float or of
/// the type of `x`, may be null: 1 and 0. `workspace` has kNormalizationWorkspace bytes, or is
/// null.
template <class Source, class P>
void normalize(const kit::Device& device, const Source& x, typename Source::Type* y, const P* scale,
               const P* bias, const NormalizationLayout& layout,
               const NormalizationOptions& options, [[maybe_unused]] void* workspace = nullptr) {
  if (layout.length() == 0) return;
#if defined(__CUDACC__)
  if (layout.rows == 0) return;
  constexpr int64_t kLongRow = 8192;
  const unsigned blocks = kit::Device::blocks(layout.rows);
  const NormalizedRow<Source, P> all{x, y, scale, bias, layout, options};
  const RowParts parts(layout, workspace);
  // clang-format off: it takes launches apart.
  if (workspace != nullptr && parts.count > 1) {
    const dim3 grid(static_cast<unsigned>(parts.count), blocks);
    find_moments<<<grid, RowParts::kThreads, 0, device.stream>>>(x, layout.length(), parts);
    normalize_parts<<<grid, RowParts::kThreads, 0, device.stream>>>(all, parts);
  } else if (layout.length() >= kLongRow) {
    normalize_rows<Source, P, 1024><<<blocks, 1024, 0, device.stream>>>(all);
  } else {
    normalize_rows<Source, P, 256><<<blocks, 256, 0, device.stream>>>(all);
  }
  // clang-format on
#else
  device.parallel_rows(layout.rows, NormalizeRow<Source, P>{x, y, scale, bias, layout, options});
#endif
}

}  // namespace tenon::kernels::inline TENON_TARGET
