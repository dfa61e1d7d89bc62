#include <limits>

#include "cuda/capability.h"
#include "cuda/divider.cuh"
#include "cuda/elements.cuh"
#include "cuda/pooling.h"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 256;

template <class T> __device__ float loaded(T x) {
  if constexpr (std::is_integral_v<T>)
    return x;
  else
    return to_float(x);
}

template <class T> __device__ T stored(float x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(x);
  else
    return from_float<T>(x);
}

template <class T> __device__ float lowest() {
  if constexpr (std::is_integral_v<T>)
    return std::numeric_limits<T>::lowest();
  else
    return -INFINITY;
}

/// The taps [begin, end) of a window along an axis that lie in the data, from element `first` on.
struct Span {
  int64_t first;
  int begin, end, padded;  // padded: taps in the data and the padding

  __device__ Span(const PoolingParameters& p, int axis, int64_t position)
      : first(position * p.axes.stride[axis] - p.axes.pre[axis]) {
    const int64_t step = p.axes.dilation[axis], kernel = p.axes.kernel[axis];
    const auto taps_before = [&](int64_t limit) {
      int64_t taps = limit > first ? limit - first : 0;
      if (step != 1) taps = (taps + step - 1) / step;  // divisions take long
      return static_cast<int>(taps < kernel ? taps : kernel);
    };
    begin = taps_before(0);
    end = taps_before(p.axes.in[axis]);
    padded = taps_before(p.axes.in[axis] + p.axes.post[axis]);
  }
  __device__ int taps() const { return end > begin ? end - begin : 0; }
};

struct Dividers {
  Divider channels, x, y, z;
};

__device__ float average_of(const PoolingParameters& p, const Span& z, const Span& y, const Span& x,
                            float sum) {
  int64_t count = 0;
  if (p.count == PoolingCount::kTaps)
    count = p.axes.kernel[0] * p.axes.kernel[1] * p.axes.kernel[2];
  else if (p.count == PoolingCount::kElementsAndPadding)
    count = int64_t{z.padded} * y.padded * x.padded;
  else
    count = int64_t{z.taps()} * y.taps() * x.taps();
  return count == 0 ? 0 : sum / static_cast<float>(count);
}

// A thread makes kPack neighbouring channels of an element; without packs it may be any layout.
template <class T, int kPack, bool kMax, bool kAverage>
__global__ void pool(PoolingParameters p, Dividers dividers, uint32_t count) {
  uint32_t rest = blockIdx.x * kThreads + threadIdx.x;
  if (rest >= count) return;
  const int64_t at = int64_t{rest} * kPack;
  const int64_t channel = p.channels_last ? int64_t{dividers.channels.split(rest)} * kPack : 0;
  const Span x(p, 2, dividers.x.split(rest));
  const Span y(p, 1, dividers.y.split(rest));
  const Span z(p, 0, dividers.z.split(rest));
  const int64_t step = p.channels_last ? p.channels : 1;  // along x
  const T* plane = static_cast<const T*>(p.in)
                   + rest * p.axes.in[0] * p.axes.in[1] * p.axes.in[2] * step + channel;
  float largest[kPack], sum[kPack];
  for (int i = 0; i < kPack; ++i) {
    largest[i] = lowest<T>();
    sum[i] = 0;
  }
  for (int kz = z.begin; kz < z.end; ++kz)
    for (int ky = y.begin; ky < y.end; ++ky) {
      const int64_t row =
          ((z.first + kz * p.axes.dilation[0]) * p.axes.in[1] + y.first + ky * p.axes.dilation[1])
          * p.axes.in[2];
      for (int kx = x.begin; kx < x.end; ++kx) {
        const auto pack = *reinterpret_cast<const Pack<T, kPack>*>(
            plane + (row + x.first + kx * p.axes.dilation[2]) * step);
        for (int i = 0; i < kPack; ++i) {
          const float value = loaded(pack.values[i]);
          if (kMax && (value > largest[i] || value != value)) largest[i] = value;  // a NaN stays
          if (kAverage) sum[i] += value;
        }
      }
    }
  Pack<T, kPack> result;
  for (int i = 0; i < kPack; ++i) {
    const float average = kAverage ? average_of(p, z, y, x, sum[i]) : 0;
    result.values[i] = stored<T>(!kAverage ? largest[i]
                                 : !kMax   ? average
                                           : (1 - p.blend) * largest[i] + p.blend * average);
  }
  *reinterpret_cast<Pack<T, kPack>*>(static_cast<T*>(p.out) + at) = result;
}

// Maxima in rows, with their indices; `first_plane` of all is where `p.in` points.
template <class T>
__global__ void pool_indices(PoolingParameters p, Dividers dividers, uint32_t count,
                             int64_t first_plane) {
  const uint32_t at = blockIdx.x * kThreads + threadIdx.x;
  if (at >= count) return;
  uint32_t rest = at;
  const Span x(p, 2, dividers.x.split(rest));
  const Span y(p, 1, dividers.y.split(rest));
  const Span z(p, 0, dividers.z.split(rest));
  const int64_t plane_size = p.axes.in[0] * p.axes.in[1] * p.axes.in[2];
  const T* plane = static_cast<const T*>(p.in) + rest * plane_size;
  int64_t best_z = -1, best_y = 0, best_x = 0;
  float largest = lowest<T>();
  for (int kz = z.begin; kz < z.end; ++kz)
    for (int ky = y.begin; ky < y.end; ++ky)
      for (int kx = x.begin; kx < x.end; ++kx) {
        const int64_t iz = z.first + kz * p.axes.dilation[0],
                      iy = y.first + ky * p.axes.dilation[1],
                      ix = x.first + kx * p.axes.dilation[2];
        const float value = loaded(plane[(iz * p.axes.in[1] + iy) * p.axes.in[2] + ix]);
        const bool is_greater = value > largest || (value != value && largest == largest);
        if (best_z >= 0 && !is_greater) continue;
        largest = value;
        best_z = iz;
        best_y = iy;
        best_x = ix;
      }
  static_cast<T*>(p.out)[at] = stored<T>(largest);
  const int64_t position = p.columns_first
                               ? (best_x * p.axes.in[1] + best_y) * p.axes.in[0] + best_z
                               : (best_z * p.axes.in[1] + best_y) * p.axes.in[2] + best_x;
  p.indices[at] = best_z < 0 ? -1 : (first_plane + rest) * plane_size + position;
}

template <class T, int kPack>
void launch_chunk(const PoolingParameters& p, const Dividers& dividers, int64_t count,
                  int64_t first_plane, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  const auto threads = static_cast<uint32_t>(count);
  if constexpr (kPack == 1)
    if (p.indices != nullptr) {
      pool_indices<T><<<blocks, kThreads, 0, stream>>>(p, dividers, threads, first_plane);
      return;
    }
  if constexpr (std::is_integral_v<T>)
    pool<T, kPack, true, false><<<blocks, kThreads, 0, stream>>>(p, dividers, threads);
  else if (!p.is_average)
    pool<T, kPack, true, false><<<blocks, kThreads, 0, stream>>>(p, dividers, threads);
  else if (!p.is_max)
    pool<T, kPack, false, true><<<blocks, kThreads, 0, stream>>>(p, dividers, threads);
  else
    pool<T, kPack, true, true><<<blocks, kThreads, 0, stream>>>(p, dividers, threads);
}

// In parts of fewer than 2^31 threads.
template <class T, int kPack> void launch(PoolingParameters p, cudaStream_t stream) {
  const Dividers dividers{Divider(p.channels / kPack), Divider(p.axes.out[2]),
                          Divider(p.axes.out[1]), Divider(p.axes.out[0])};
  const int64_t channels = p.channels_last ? p.channels : 1;
  const int64_t planes = p.channels_last ? p.images : p.images * p.channels;
  const int64_t from = p.axes.in[0] * p.axes.in[1] * p.axes.in[2] * channels;
  const int64_t to = p.axes.out[0] * p.axes.out[1] * p.axes.out[2] * channels;
  constexpr int64_t kMaxElements = int64_t{1} << 30;
  const int64_t at_once = to < kMaxElements ? kMaxElements / to : 1;
  for (int64_t first = 0; first < planes; first += at_once) {
    const int64_t some = at_once < planes - first ? at_once : planes - first;
    launch_chunk<T, kPack>(p, dividers, some * to / kPack, first, stream);
    p.in = static_cast<const T*>(p.in) + some * from;
    p.out = static_cast<T*>(p.out) + some * to;
    if (p.indices != nullptr) p.indices += some * to;
  }
}

template <class T> void launch(const PoolingParameters& p, cudaStream_t stream) {
  constexpr int kPack = 16 / sizeof(T);
  const bool packs =
      p.channels_last && p.channels % kPack == 0 && is_multiple(p.in, 16) && is_multiple(p.out, 16);
  if (packs)
    launch<T, kPack>(p, stream);
  else
    launch<T, 1>(p, stream);
}

// Planes.

constexpr int kLanes = 32, kRows = 8;

template <bool kMax> __device__ float joined(float a, float b) {
  return kMax ? (b > a || b != b ? b : a) : a + b;
}

// A warp makes one number.
template <class T, bool kMax> __global__ void rows_of_planes(PlaneParameters p) {
  const int64_t plane = int64_t{blockIdx.x} * kRows + threadIdx.y;
  if (plane >= p.images * p.channels) return;
  const T* in = static_cast<const T*>(p.in) + plane * p.positions;
  float value = kMax ? -INFINITY : 0;
  for (int64_t i = threadIdx.x; i < p.positions; i += kLanes)
    value = joined<kMax>(value, to_float(in[i]));
  for (int apart = kLanes / 2; apart > 0; apart /= 2)
    value = joined<kMax>(value, __shfl_xor_sync(~0u, value, apart));
  if (threadIdx.x == 0)
    static_cast<T*>(p.out)[plane] = from_float<T>(kMax ? value : value / p.divisor);
}

// A lane has kPack channels, and the rows of a block share the positions.
template <class T, int kPack, bool kMax> __global__ void columns_of_planes(PlaneParameters p) {
  __shared__ float parts[kRows][kLanes * kPack];
  const int64_t groups = (p.channels + kLanes * kPack - 1) / (kLanes * kPack);
  const int64_t image = blockIdx.x / groups;
  const int64_t channel = (blockIdx.x % groups * kLanes + threadIdx.x) * kPack;
  const bool is_there = channel < p.channels;
  const T* in = static_cast<const T*>(p.in) + image * p.positions * p.channels + channel;
  float values[kPack];
  for (float& value : values) value = kMax ? -INFINITY : 0;
  if (is_there)
#pragma unroll 4
    for (int64_t i = threadIdx.y; i < p.positions; i += kRows) {
      const auto pack = *reinterpret_cast<const Pack<T, kPack>*>(in + i * p.channels);
      for (int k = 0; k < kPack; ++k) values[k] = joined<kMax>(values[k], to_float(pack.values[k]));
    }
  for (int k = 0; k < kPack; ++k) parts[threadIdx.y][threadIdx.x * kPack + k] = values[k];
  __syncthreads();
  if (threadIdx.y != 0 || !is_there) return;
  Pack<T, kPack> result;
  for (int k = 0; k < kPack; ++k) {
    float value = values[k];
    for (int row = 1; row < kRows; ++row)
      value = joined<kMax>(value, parts[row][threadIdx.x * kPack + k]);
    result.values[k] = from_float<T>(kMax ? value : value / p.divisor);
  }
  *reinterpret_cast<Pack<T, kPack>*>(static_cast<T*>(p.out) + image * p.channels + channel) =
      result;
}

template <class T, bool kMax> void launch_planes_of(const PlaneParameters& p, cudaStream_t stream) {
  const dim3 threads(kLanes, kRows);
  if (!p.channels_last) {
    const int64_t planes = p.images * p.channels;
    rows_of_planes<T, kMax>
        <<<static_cast<unsigned>((planes + kRows - 1) / kRows), threads, 0, stream>>>(p);
    return;
  }
  // Packs of 4 or 16 bytes; the wider ones where there are blocks for all multiprocessors.
  constexpr int kPack = 4 / sizeof(T), kWidePack = 16 / sizeof(T);
  const auto blocks = [&](int pack) {
    const int64_t channels = kLanes * pack;
    return p.images * ((p.channels + channels - 1) / channels);
  };
  const auto packs = [&](int pack) {
    const size_t bytes = static_cast<size_t>(pack) * sizeof(T);
    return p.channels % pack == 0 && is_multiple(p.in, bytes) && is_multiple(p.out, bytes);
  };
  const auto grid = [&](int pack) { return static_cast<unsigned>(blocks(pack)); };
  if (packs(kWidePack) && blocks(kWidePack) >= multiprocessors())
    columns_of_planes<T, kWidePack, kMax><<<grid(kWidePack), threads, 0, stream>>>(p);
  else if (packs(kPack))
    columns_of_planes<T, kPack, kMax><<<grid(kPack), threads, 0, stream>>>(p);
  else
    columns_of_planes<T, 1, kMax><<<grid(1), threads, 0, stream>>>(p);
}

}  // namespace

void launch_pooling(const PoolingParameters& p, cudaStream_t stream) {
  const bool is_byte = p.type == DataType::kINT8 || p.type == DataType::kUINT8;
  if (is_byte && launch_byte_maxima(p, stream)) return;
  if (p.type == DataType::kINT8) return launch<int8_t>(p, stream);
  if (p.type == DataType::kUINT8) return launch<uint8_t>(p, stream);
  with_device_float(p.type, [&](auto zero) { launch<decltype(zero)>(p, stream); });
}

void launch_planes(const PlaneParameters& p, cudaStream_t stream) {
  with_device_float(p.type, [&](auto zero) {
    using T = decltype(zero);
    if (p.is_max)
      launch_planes_of<T, true>(p, stream);
    else
      launch_planes_of<T, false>(p, stream);
  });
}

}  // namespace tenon::cuda
