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

/// The moments of all threads of a block.
template <int threads> __device__ Moments block_moments(Moments own) {
  __shared__ Moments parts[threads / kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const Moments other =
        by_words(own, [=](int word) { return __shfl_down_sync(kAllLanes, word, distance); });
    if (lane + distance < kWarp) own.add(other);
  }
  if (lane == 0) parts[threadIdx.x / kWarp] = own;
  __syncthreads();
  Moments all;
  for (const Moments& part : parts) all.add(part);
  __syncthreads();  // the next row writes parts
  return all;
}

/// Two passes over memory, the second from the L2 cache. Distances are taken from the mean of some
/// elements that a thread holds in registers.
template <class Source, class P, int threads>
__global__ void __launch_bounds__(threads)
    normalize_rows(Source x, typename Source::Type* y, const P* scale, const P* bias,
                   NormalizationLayout layout, NormalizationOptions options) {
  constexpr int kHeld = 16;
  const int64_t n = layout.length();
  for (int64_t row = blockIdx.x; row < layout.rows; row += gridDim.x) {
    const int64_t first = row * n, parameter = layout.parameter(row);
    Moments own;
    for (int64_t begin = threadIdx.x; begin < n; begin += threads * kHeld) {
      float held[kHeld];
      float sum = 0, squares = 0;
      int count = 0;
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        const bool is_there = begin + k * threads < n;
        held[k] = is_there ? x(first + begin + k * threads) : 0;
        count += is_there;
        sum += held[k];
      }
      const float mean = sum / static_cast<float>(count);
      sum = 0;
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        const float d = k < count ? held[k] - mean : 0;
        sum += d;
        squares += d * d;
      }
      own.add(Moments::around(mean, count, sum, squares));
    }
    const NormalizedChannel normalized(block_moments<threads>(own), {options.epsilon, 1}, 1, 0);
    for (int64_t i = threadIdx.x; i < n; i += threads) {
      const int64_t p =
          parameter
          + (n <= UINT32_MAX ? static_cast<uint32_t>(i) / static_cast<uint32_t>(layout.inner)
                             : i / layout.inner);
      const float value =
          normalized(x(first + i)) * (scale == nullptr ? 1.f : static_cast<float>(scale[p]))
          + (bias == nullptr ? 0.f : static_cast<float>(bias[p]));
      y[first + i] = static_cast<typename Source::Type>(leaky(value, options.negative_slope));
    }
  }
}

#else

// One pass over memory: rows up to some megabytes are still in the L2 cache when they are
// written.
template <class Source, class P> struct NormalizeRow {
  using E = typename Source::Type;
  static constexpr int64_t kBlock = 2048, kLanes = 32;

  Source x;
  E* y;
  const P *scale, *bias;
  NormalizationLayout layout;
  NormalizationOptions options;

  void operator()(const kit::Team&, int64_t row) const {
    const int64_t first = row * layout.length(), parameter = layout.parameter(row);
    const Moments moments = moments_of(first);
    if (layout.inner == 1) return write_elements(first, moments, parameter);
    for (int64_t c = 0; c < layout.channels; ++c)
      write_channel(first + c * layout.inner, {moments, options, value(scale, parameter + c, 1),
                                               value(bias, parameter + c, 0)});
  }

 private:
  static float value(const P* list, int64_t i, float neutral) {
    return list == nullptr ? neutral : static_cast<float>(list[i]);
  }

  // Distances of a block are taken from the mean of what came before it: that costs no accuracy
  // when the block's own mean is elsewhere, as the variance of the row is then at least as large.
  Moments moments_of(int64_t first) const {
    alignas(64) float buffer[kBlock];
    Moments moments;
    for (int64_t at = 0; at < layout.length(); at += kBlock) {
      const int64_t n = std::min(kBlock, layout.length() - at);
      const float* block = x.read(first + at, n, buffer);
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

  void write_channel(int64_t first, const NormalizedChannel& normalized) const {
    write(first, layout.inner, [&](const float* from, float* to, int64_t n) {
      with_wide_vectors([=, f = normalized](auto) {
        const NormalizedChannel g = f;  // not in memory, which `to` could point at
        for (int64_t i = 0; i < n; ++i) to[i] = g(from[i]);
      });
    });
  }

  // Each element has its own scale and bias.
  void write_elements(int64_t first, const Moments& moments, int64_t parameter) const {
    const NormalizedChannel normalized(moments, {options.epsilon, 1}, 1, 0);
    int64_t at = parameter;
    write(first, layout.channels, [&](const float* from, float* to, int64_t n) {
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

  // body(from, to, n) over blocks of [first, first + length).
  template <class F> void write(int64_t first, int64_t length, const F& body) const {
    alignas(64) float buffer[kBlock], result[kBlock];
    for (int64_t at = 0; at < length; at += kBlock) {
      const int64_t n = std::min(kBlock, length - at);
      const float* from = x.read(first + at, n, buffer);
      if constexpr (std::is_same_v<E, float>) {
        body(from, y + first + at, n);
      } else {
        body(from, result, n);
        kit::convert(result, y + first + at, n);
      }
    }
  }
};

#endif

/// Normalises rows of `x` (Elements or SumOfElements) into `y`. `scale` and `bias`, of float or of
/// the type of `x`, may be null: 1 and 0.
template <class Source, class P>
void normalize(const kit::Device& device, const Source& x, typename Source::Type* y, const P* scale,
               const P* bias, const NormalizationLayout& layout,
               const NormalizationOptions& options) {
  if (layout.length() == 0) return;
#if defined(__CUDACC__)
  if (layout.rows == 0) return;
  constexpr int64_t kLongRow = 8192;
  const unsigned blocks = kit::Device::blocks(layout.rows);
  // clang-format off: it takes launches apart.
  if (layout.length() >= kLongRow)
    normalize_rows<Source, P, 1024><<<blocks, 1024, 0, device.stream>>>(x, y, scale, bias, layout, options);
  else
    normalize_rows<Source, P, 256><<<blocks, 256, 0, device.stream>>>(x, y, scale, bias, layout, options);
  // clang-format on
#else
  device.parallel_rows(layout.rows, NormalizeRow<Source, P>{x, y, scale, bias, layout, options});
#endif
}

}  // namespace tenon::kernels::inline TENON_TARGET
