#include <cstddef>

#include "cuda/convolution/depthwise.h"
#include "cuda/divider.cuh"
#include "cuda/elements.cuh"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kPack = DepthwiseParameters::kPack;

// What elements are, and what becomes of their sums.
template <class T> struct Floats {
  using Element = T;
  using Weight = T;
  using Sum = float;

  void skip(int64_t) {}
  size_t result_bytes() const { return sizeof(T); }
  __device__ void load(const T* from, float (&to)[kPack]) const {
    const auto pack = *reinterpret_cast<const Pack<T, kPack>*>(from);
    for (int i = 0; i < kPack; ++i) to[i] = to_float(pack.values[i]);
  }
  __device__ void load_weights(const T* from, float (&to)[kPack]) const { load(from, to); }

  struct Channels {
    float bias[kPack] = {};
  };
  __device__ Channels channels(const DepthwiseParameters& p, int64_t channel) const {
    Channels own;
    if (p.bias != nullptr) load(static_cast<const T*>(p.bias) + channel, own.bias);
    return own;
  }
  __device__ void store(const DepthwiseParameters& p, const Channels& own,
                        const float (&sums)[kPack], int64_t at) const {
    Pack<T, kPack> pack;
    for (int k = 0; k < kPack; ++k)
      pack.values[k] = from_float<T>(activated(p.epilogue, sums[k] + own.bias[k]));
    *reinterpret_cast<Pack<T, kPack>*>(static_cast<T*>(p.result) + at) = pack;
  }
};

template <class T> struct Bytes {
  using Element = T;
  using Weight = int8_t;
  using Sum = int32_t;
  const void* data_zero;
  IntegerEpilogue epilogue;

  void skip(int64_t elements) {
    if (epilogue.addend != nullptr)
      epilogue.addend = static_cast<const uint8_t*>(epilogue.addend) + elements;
  }
  size_t result_bytes() const { return static_cast<size_t>(bits_of(epilogue.to)) / 8; }
  __device__ void load(const T* from, int32_t (&to)[kPack]) const {
    const auto pack = *reinterpret_cast<const Pack<T, kPack>*>(from);
    const int32_t zero = *static_cast<const T*>(data_zero);
    for (int i = 0; i < kPack; ++i) to[i] = pack.values[i] - zero;
  }
  __device__ void load_weights(const int8_t* from, int32_t (&to)[kPack]) const {
    const auto pack = *reinterpret_cast<const Pack<int8_t, kPack>*>(from);
    for (int i = 0; i < kPack; ++i) to[i] = pack.values[i];
  }

  struct Channels {
    int64_t first;
    const int32_t* bias;
  };
  __device__ Channels channels(const DepthwiseParameters& p, int64_t channel) const {
    return {channel, static_cast<const int32_t*>(p.bias)};
  }
  __device__ void store(const DepthwiseParameters& p, const Channels& own,
                        const int32_t (&sums)[kPack], int64_t at) const {
    for (int k = 0; k < kPack; ++k)
      store_result(epilogue,
                   static_cast<int32_t>(static_cast<uint32_t>(sums[k])
                                        + static_cast<uint32_t>(own.bias[own.first + k])),
                   own.first + k, p.result, at + k);
  }
};

struct Dividers {
  Divider packs, columns, rows;
};

// What is read of a row serves all elements of it that the thread makes.
template <class Elements, int kKernel, int kStride, int kAtOnce>
__global__ void depthwise(DepthwiseParameters p, Elements elements, Dividers dividers,
                          uint32_t count) {
  using T = typename Elements::Element;
  using Weight = typename Elements::Weight;
  using Sum = typename Elements::Sum;
  uint32_t rest = blockIdx.x * kThreads + threadIdx.x;
  if (rest >= count) return;
  const int64_t channel = int64_t{dividers.packs.split(rest)} * kPack;
  const int first = static_cast<int>(dividers.columns.split(rest)) * kAtOnce;
  const int row = static_cast<int>(dividers.rows.split(rest));
  const int64_t image = rest;
  constexpr int kReach = (kAtOnce - 1) * kStride + kKernel;

  Sum sums[kAtOnce][kPack] = {};
  const int left = first * kStride - p.pre[1];
#pragma unroll
  for (int ky = 0; ky < kKernel; ++ky) {
    const int y = row * kStride - p.pre[0] + ky;
    if (y < 0 || y >= p.in[0]) continue;
    Sum weights[kKernel][kPack];
    const Weight* from =
        static_cast<const Weight*>(p.weights) + ky * kKernel * p.channels + channel;
#pragma unroll
    for (int kx = 0; kx < kKernel; ++kx) elements.load_weights(from + kx * p.channels, weights[kx]);
    const T* line =
        static_cast<const T*>(p.data) + ((image * p.in[0] + y) * p.in[1]) * p.channels + channel;
#pragma unroll
    for (int i = 0; i < kReach; ++i) {
      const int x = left + i;
      if (x < 0 || x >= p.in[1]) continue;
      Sum values[kPack];
      elements.load(line + x * p.channels, values);
#pragma unroll
      for (int o = 0; o < kAtOnce; ++o) {
        const int kx = i - o * kStride;
        if (kx < 0 || kx >= kKernel) continue;
        for (int k = 0; k < kPack; ++k) sums[o][k] += values[k] * weights[kx][k];
      }
    }
  }

  const auto own = elements.channels(p, channel);
  const int64_t to = ((image * p.out[0] + row) * p.out[1] + first) * p.channels + channel;
#pragma unroll
  for (int o = 0; o < kAtOnce; ++o)
    if (first + o < p.out[1]) elements.store(p, own, sums[o], to + o * p.channels);
}

// In parts of fewer than 2^31 threads.
template <int kKernel, int kStride, int kAtOnce, class Elements>
void launch(DepthwiseParameters p, Elements elements, cudaStream_t stream) {
  const int64_t packs = p.channels / kPack, columns = (p.out[1] + kAtOnce - 1) / kAtOnce;
  const Dividers dividers{Divider(packs), Divider(columns), Divider(p.out[0])};
  const int64_t threads = packs * columns * p.out[0];
  constexpr int64_t kMaxThreads = int64_t{1} << 30;
  const int64_t at_once = threads < kMaxThreads ? kMaxThreads / threads : 1;
  for (int64_t first = 0; first < p.images; first += at_once) {
    const int64_t some = at_once < p.images - first ? at_once : p.images - first;
    const int64_t count = some * threads;
    depthwise<Elements, kKernel, kStride, kAtOnce>
        <<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
            p, elements, dividers, static_cast<uint32_t>(count));
    const int64_t read = some * p.in[0] * p.in[1] * p.channels;
    const int64_t written = some * p.out[0] * p.out[1] * p.channels;
    p.data = static_cast<const std::byte*>(p.data) + read * sizeof(typename Elements::Element);
    p.result = static_cast<std::byte*>(p.result) + written * elements.result_bytes();
    elements.skip(written);
  }
}

template <int kKernel, int kStride, class Elements>
void launch(const DepthwiseParameters& p, const Elements& elements, cudaStream_t stream) {
  if (p.at_once == 4)
    launch<kKernel, kStride, 4>(p, elements, stream);
  else if (p.at_once == 2)
    launch<kKernel, kStride, 2>(p, elements, stream);
  else
    launch<kKernel, kStride, 1>(p, elements, stream);
}

template <class Elements>
void launch(const DepthwiseParameters& p, const Elements& elements, cudaStream_t stream) {
  if (p.kernel == 3 && p.stride == 1)
    launch<3, 1>(p, elements, stream);
  else if (p.kernel == 3)
    launch<3, 2>(p, elements, stream);
  else if (p.stride == 1)
    launch<5, 1>(p, elements, stream);
  else
    launch<5, 2>(p, elements, stream);
}

}  // namespace

void launch_depthwise(const DepthwiseParameters& p, cudaStream_t stream) {
  with_device_float(p.type, [&](auto zero) { launch(p, Floats<decltype(zero)>{}, stream); });
}

void launch_integer_depthwise(const IntegerDepthwiseParameters& p, cudaStream_t stream) {
  if (p.plane.type == DataType::kINT8)
    launch(p.plane, Bytes<int8_t>{p.data_zero, p.epilogue}, stream);
  else
    launch(p.plane, Bytes<uint8_t>{p.data_zero, p.epilogue}, stream);
}

}  // namespace tenon::cuda
