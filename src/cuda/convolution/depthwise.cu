#include "cuda/convolution/depthwise.h"
#include "cuda/divider.cuh"
#include "cuda/elements.cuh"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kPack = DepthwiseParameters::kPack;

template <class T> __device__ void load(const T* from, float (&to)[kPack]) {
  const auto pack = *reinterpret_cast<const Pack<T, kPack>*>(from);
  for (int i = 0; i < kPack; ++i) to[i] = to_float(pack.values[i]);
}

struct Dividers {
  Divider packs, columns, rows;
};

// What is read of a row serves all elements of it that the thread makes.
template <class T, int kKernel, int kStride, int kAtOnce>
__global__ void depthwise(DepthwiseParameters p, Dividers dividers, uint32_t count) {
  uint32_t rest = blockIdx.x * kThreads + threadIdx.x;
  if (rest >= count) return;
  const int64_t channel = int64_t{dividers.packs.split(rest)} * kPack;
  const int first = static_cast<int>(dividers.columns.split(rest)) * kAtOnce;
  const int row = static_cast<int>(dividers.rows.split(rest));
  const int64_t image = rest;
  constexpr int kReach = (kAtOnce - 1) * kStride + kKernel;

  float sums[kAtOnce][kPack] = {};
  const int left = first * kStride - p.pre[1];
#pragma unroll
  for (int ky = 0; ky < kKernel; ++ky) {
    const int y = row * kStride - p.pre[0] + ky;
    if (y < 0 || y >= p.in[0]) continue;
    float weights[kKernel][kPack];
    const T* from = static_cast<const T*>(p.weights) + ky * kKernel * p.channels + channel;
#pragma unroll
    for (int kx = 0; kx < kKernel; ++kx) load(from + kx * p.channels, weights[kx]);
    const T* line =
        static_cast<const T*>(p.data) + ((image * p.in[0] + y) * p.in[1]) * p.channels + channel;
#pragma unroll
    for (int i = 0; i < kReach; ++i) {
      const int x = left + i;
      if (x < 0 || x >= p.in[1]) continue;
      float values[kPack];
      load(line + x * p.channels, values);
#pragma unroll
      for (int o = 0; o < kAtOnce; ++o) {
        const int kx = i - o * kStride;
        if (kx < 0 || kx >= kKernel) continue;
        for (int k = 0; k < kPack; ++k) sums[o][k] += values[k] * weights[kx][k];
      }
    }
  }

  float bias[kPack] = {};
  if (p.bias != nullptr) load(static_cast<const T*>(p.bias) + channel, bias);
  T* to = static_cast<T*>(p.result) + ((image * p.out[0] + row) * p.out[1] + first) * p.channels
          + channel;
#pragma unroll
  for (int o = 0; o < kAtOnce; ++o) {
    if (first + o >= p.out[1]) break;
    Pack<T, kPack> pack;
    for (int k = 0; k < kPack; ++k)
      pack.values[k] = from_float<T>(activated(p.epilogue, sums[o][k] + bias[k]));
    *reinterpret_cast<Pack<T, kPack>*>(to + o * p.channels) = pack;
  }
}

// In parts of fewer than 2^31 threads.
template <class T, int kKernel, int kStride, int kAtOnce>
void launch(DepthwiseParameters p, cudaStream_t stream) {
  const int64_t packs = p.channels / kPack, columns = (p.out[1] + kAtOnce - 1) / kAtOnce;
  const Dividers dividers{Divider(packs), Divider(columns), Divider(p.out[0])};
  const int64_t threads = packs * columns * p.out[0];
  constexpr int64_t kMaxThreads = int64_t{1} << 30;
  const int64_t at_once = threads < kMaxThreads ? kMaxThreads / threads : 1;
  for (int64_t first = 0; first < p.images; first += at_once) {
    const int64_t some = at_once < p.images - first ? at_once : p.images - first;
    const int64_t count = some * threads;
    depthwise<T, kKernel, kStride, kAtOnce>
        <<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
            p, dividers, static_cast<uint32_t>(count));
    p.data = static_cast<const T*>(p.data) + some * p.in[0] * p.in[1] * p.channels;
    p.result = static_cast<T*>(p.result) + some * p.out[0] * p.out[1] * p.channels;
  }
}

template <class T, int kKernel, int kStride>
void launch(const DepthwiseParameters& p, cudaStream_t stream) {
  if (p.at_once == 4)
    launch<T, kKernel, kStride, 4>(p, stream);
  else if (p.at_once == 2)
    launch<T, kKernel, kStride, 2>(p, stream);
  else
    launch<T, kKernel, kStride, 1>(p, stream);
}

template <class T, int kKernel> void launch(const DepthwiseParameters& p, cudaStream_t stream) {
  if (p.stride == 1)
    launch<T, kKernel, 1>(p, stream);
  else
    launch<T, kKernel, 2>(p, stream);
}

}  // namespace

void launch_depthwise(const DepthwiseParameters& p, cudaStream_t stream) {
  with_device_float(p.type, [&](auto zero) {
    if (p.kernel == 3)
      launch<decltype(zero), 3>(p, stream);
    else
      launch<decltype(zero), 5>(p, stream);
  });
}

}  // namespace tenon::cuda
